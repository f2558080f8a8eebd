#!/bin/sh
# deb.sh SUITE FOLDER: Debian's packages in bare systems of that suite: built twice, looked at by lintian, and, in a system
# that never saw the sources, installed over those of the first release, used, removed. Prints a line a check. Needs root.
set -eu
suite=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
first=a3a5b58

# Its own mounts, which go when it ends, in whatever way it ends.
if [ "${CALLGATE_PACKAGES_INSIDE:-}" != yes ]; then
	export CALLGATE_PACKAGES_INSIDE=yes
	exec unshare --mount --pid --fork --kill-child --propagation private "$0" "$@"
fi
. "$top/tools/bare.sh"
umask 022
log=$folder/log
check() { # WHAT COMMAND...
	what=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "ok   $suite: $what"
	else
		echo "FAIL $suite: $what"
		tail -n 40 "$log" | sed 's/^/    /'
	fi
}
must() { # WHAT COMMAND...: nothing after it can be checked without it
	if ! "$@" >"$log" 2>&1; then
		echo "FAIL $suite: $*"
		tail -n 40 "$log" | sed 's/^/    /'
		exit 1
	fi
}
builder=$bare_cache/$suite-packages
bare=$folder/bare
old=$bare_cache/$suite-first-release.deb
leave() {
	umount -R "$builder/dev" "$builder/proc" "$bare/dev" "$bare/proc" 2>/dev/null || :
}
trap leave EXIT
apt="env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends"
# shellcheck disable=SC2086
build() { bare_run "$builder" root /root "$@"; }

# ---- A system to build in, kept: what it takes from the registries is the long part of it.
if [ ! -e "$builder/ready" ]; then
	rm -rf --one-file-system "$builder"
	mkdir -p "$builder"
	bare_root "$suite" "$builder"
else
	mirror=$(bare_mirror main) security=$(bare_mirror security)
	bare_enter "$suite" "$builder"
fi
rm -rf "$builder/srv/callgate" "$builder/srv/elsewhere/deeper" "$builder/srv/out" "$builder/srv/again"
mkdir -p "$builder/srv/callgate" "$builder/srv/elsewhere/deeper/callgate"
git -C "$top" ls-files -z --cached --others --exclude-standard |
	tar -c -C "$top" --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$builder/srv/callgate"
cp -R "$builder/srv/callgate" "$builder/srv/elsewhere/deeper/"
find "$builder/srv/elsewhere/deeper" -exec touch -h -d @1000000000 {} +
must build $apt update
must build sh -c 'cd /srv/callgate && tools/deps.sh deb'
must build $apt install lintian
touch "$builder/ready"

must build sh -c 'cd /srv/callgate && packaging/build.py deb --out /srv/out'
echo "ok   $suite: make deb"
rm -rf "$folder/out"
cp -R "$builder/srv/out" "$folder/out"
for deb in "$folder/out"/*.deb; do echo "size $(stat -c %s "$deb") $(basename "$deb")"; done
check "lintian has nothing to say" build sh -c 'lintian --allow-root --display-info --fail-on error,warning,info \
	/srv/out/*.changes >/tmp/lintian && [ ! -s /tmp/lintian ] || { cat /tmp/lintian; exit 1; }'

# ---- The first release, packed as plainly as can be.
if [ ! -e "$old" ]; then
	rm -rf "$builder/srv/first"
	mkdir -p "$builder/srv/first/tree"
	git -C "$top" archive $first | tar -x -C "$builder/srv/first/tree"
	must build sh -c 'set -e; cd /srv/first/tree
		meson setup build --prefix /usr -Dwerror=false --strip && ninja -C build
		DESTDIR=/srv/first/root meson install -C build --no-rebuild
		mkdir /srv/first/root/DEBIAN
		printf "Package: callgate\nVersion: 0.1.0-1\nArchitecture: %s\nMaintainer: nobody <nobody@localhost>\nDepends: libuv1, libsqlite3-0, libc6\nDescription: first release\n" \
			"$(dpkg --print-architecture)" >/srv/first/root/DEBIAN/control
		dpkg-deb --root-owner-group --build /srv/first/root /srv/first/callgate.deb'
	cp "$builder/srv/first/callgate.deb" "$old"
	rm -rf "$builder/srv/first"
fi

# ---- A system that never saw the sources.
mkdir -p "$bare"
bare_root "$suite" "$bare"
inside() { bare_run "$bare" "$@"; }
as_ada() { inside ada /home/ada "$@"; }
as_root() { inside root /root "$@"; }
must as_root $apt update
must as_root useradd --create-home --shell /bin/sh ada
# What apt and ldconfig keep for themselves is nobody's leftover.
listing() {
	(cd "$bare" && find etc home opt root srv usr var -xdev \( -path var/lib/apt -o -path var/cache -o -path var/log -o \
		-path var/lib/dpkg -o -path etc/ld.so.cache -o -path etc/apt -o -path var/lib/systemd \) -prune -o -print) | sort
}
listing >"$folder/before"
as_root dpkg-query -W -f '${Package} ${Version}\n' >"$folder/packages-before"
mkdir "$bare/tmp/packages"
cp "$folder/out"/*.deb "$here/use.sh" "$bare/tmp/packages/"
cp "$old" "$bare/tmp/packages/first.deb"
here_are=/tmp/packages

check "the first release is installed" as_root $apt install $here_are/first.deb
check "the first release is used" as_ada $here_are/use.sh callgate
check "upgraded" as_root sh -c "$apt install $here_are/callgate_*.deb && callgate --version | grep -q '0\.2\.'"
check "a call is denied, another approved; old and new events are one chain" as_ada sh -c "
	$here_are/use.sh callgate && callgate journal verify | grep -q '^OK'"
check "the static program does the same" as_ada sh -c "$here_are/use.sh callgate-static"
check "status" as_ada callgate status
for file in "$bare"/usr/libexec/callgate/*; do
	name=$(basename "$file")
	check "$name has its libraries" as_root sh -c "! ldd /usr/libexec/callgate/$name | grep 'not found'"
done
check "watch is found" as_ada sh -c "! callgate watch </dev/null 2>&1 | grep 'cannot be started'"
check "the manual, completions and units are there" as_root sh -c '
	set -e; cd /usr
	test -s share/doc/callgate/changelog.gz && test -s share/doc/callgate/NEWS.Debian.gz
	test -s share/doc/callgate/sbom.cdx.json
	test -s share/bash-completion/completions/callgate && test -s share/zsh/vendor-completions/_callgate
	grep -q "^ExecStart=/usr/bin/callgate serve" lib/systemd/user/callgate.service && test -s lib/systemd/user/callgate.socket
	! test -e /etc/systemd/user/sockets.target.wants/callgate.socket'
if [ -d "$bare/etc/apparmor.d" ]; then
	mkdir -p "$builder/etc/apparmor.d/local"
	check "AppArmor's parser takes the profile" build sh -c "$apt install apparmor &&
		dpkg-deb --fsys-tarfile /srv/out/callgate_*.deb | tar -x -O ./etc/apparmor.d/callgate-confine >/tmp/profile &&
		grep -q ' /usr/libexec/callgate/callgate-confine ' /tmp/profile && apparmor_parser --skip-kernel-load --skip-cache /tmp/profile"
else
	check "no AppArmor profile where its parser would refuse it" sh -c "! ls '$bare'/etc/apparmor.d/callgate*"
fi
check "libcallgate-dev is installed" as_root sh -c "$apt install $here_are/libcallgate-dev_*.deb gcc libc6-dev pkg-config"
check "the example builds by pkg-config and decides" as_ada sh -c '
	cd && gcc /usr/share/doc/libcallgate-dev/examples/decide.c -o decide $(pkg-config --cflags --libs callgate) &&
	echo "[{\"id\":\"a\",\"effect\":\"deny\",\"match\":{\"tool\":\"x\"},\"reason\":\"r\"}]" >p.json &&
	echo "{\"tool\":\"x\"}" | ./decide p.json | grep "\"deny\"" && rm decide p.json'
check "removed" as_root $apt remove --purge callgate libcallgate-dev
check "dpkg knows nothing more of it" as_root sh -c '! dpkg-query -W callgate libcallgate-dev 2>/dev/null | grep .'
must as_root sh -c "dpkg-query -W -f '\${Package} \${Version}\n' >/tmp/now && cut -d' ' -f1 /tmp/now >/tmp/names"
cut -d' ' -f1 "$folder/packages-before" >"$bare/tmp/names-before"
must as_root sh -c "$apt purge \$(grep -vxFf /tmp/names-before /tmp/names) </dev/null; rm /tmp/now /tmp/names /tmp/names-before"
listing >"$folder/after"
check "nothing is left but the state" sh -c "
	comm -13 '$folder/before' '$folder/after' | grep -v -x -e 'home/ada/\.local\(/state\(/callgate\(/.*\)\?\)\?\)\?' | grep . && exit 1
	test -s '$bare/home/ada/.local/state/callgate/journal.jsonl'"

# ---- Once more, as somebody else would, for the same bytes.
check "make deb again, elsewhere and by another" build env TZ=Asia/Kathmandu LC_ALL=C CFLAGS=-O1 sh -c '
	umask 077 && cd "/srv/elsewhere/deeper/callgate" && packaging/build.py deb --out /srv/again'
for deb in "$folder/out"/*.deb; do
	name=$(basename "$deb")
	check "two builds of $name are the same bytes" cmp "$deb" "$builder/srv/again/$name"
done
