#!/bin/sh
# fresh.sh [--only COMMAND] [--user] [--keep] SUITE: what a new user meets. Makes a bare Debian system of that suite
# (bookworm, trixie) that has git and make and nothing else, clones this checkout's last commit in it, and runs
# `make demo` and `make check` there (with --only demo, `make demo` alone). Ends with "N passed, N failed".
#
# Needs root and debootstrap. How this machine reaches package registries (apt's sources, certificates, what npm and
# pip are told) goes along into the system, so that nothing of it has to be written here.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)

usage() {
	sed -n '2,4s/^# //p' "$0" >&2
	exit 2
}
only= user=root keep=
while [ $# -gt 0 ]; do
	case $1 in
	--only) only=${2:?--only needs a target of the Makefile}; shift ;;
	--user) user=ada ;;
	--keep) keep=yes ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# = 1 ] || usage
suite=$1
[ "$(id -u)" = 0 ] || { echo "fresh: a bare system takes root to make" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh: install debootstrap first" >&2; exit 2; }

# The first run inside this script's own mounts: they go when it ends, in whatever way it ends.
if [ "${CALLGATE_FRESH_INSIDE:-}" != yes ]; then
	export CALLGATE_FRESH_INSIDE=yes
	exec unshare --mount --pid --fork --kill-child --propagation private "$0" \
		${only:+--only "$only"} $([ "$user" = root ] || echo --user) ${keep:+--keep} "$suite"
fi

mirror_of() { # the address from which apt here takes Debian's CODENAME...
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' | awk -v codename="$1" '
		$1 == "Debian" && (codename == "security") == ($2 ~ /-security$/) { print $3; exit }'
}
mirror=$(mirror_of main)
security=$(mirror_of security)
[ -n "$mirror" ] || { echo "fresh: apt here knows no mirror of Debian; run apt-get update first" >&2; exit 2; }

# A bare system, kept for the next run, and a copy for this one.
bare=/var/cache/callgate-fresh/$suite
if [ ! -e "$bare/etc/debian_version" ]; then
	rm -rf "$bare" "$bare.part"
	mkdir -p "$bare.part"
	echo "fresh: making a bare $suite in $bare"
	debootstrap --variant=minbase --include=git,make "$suite" "$bare.part" "$mirror" >"$bare.log" 2>&1 ||
		{ tail -n 5 "$bare.log" >&2; exit 2; }
	mv "$bare.part" "$bare"
fi
root=$(mktemp -d "/var/tmp/callgate-fresh-$suite.XXXXXX")
leave() {
	umount -R "$root/dev" "$root/proc" 2>/dev/null || :
	if [ -n "$keep" ]; then echo "fresh: the system is left in $root"; else rm -rf --one-file-system "$root"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM
cp -a --reflink=auto "$bare/." "$root"
chmod 755 "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"

# How this machine reaches the registries.
{
	echo "deb $mirror $suite main"
	echo "deb $mirror $suite-updates main"
	[ -z "$security" ] || echo "deb $security $suite-security main"
} >"$root/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-|ForceIPv)' >"$root/etc/apt/apt.conf.d/90machine" || :
cp -a /etc/apt/auth.conf.d/. "$root/etc/apt/auth.conf.d/" 2>/dev/null || :
cp /etc/resolv.conf /etc/hosts "$root/etc/"
for certificates in /usr/local/share/ca-certificates /etc/ssl/certs; do
	mkdir -p "$root$certificates"
	cp -aL "$certificates/." "$root$certificates/" 2>/dev/null || :
done
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
npmrc=
if command -v npm >/dev/null; then
	for key in registry cafile strict-ssl proxy https-proxy; do
		value=$(cd / && npm config get "$key" 2>/dev/null) || continue
		case $value in '' | null | undefined) ;; *) npmrc="$npmrc$key=$value
" ;; esac
	done
fi
settings=$(env | grep -iE '^([a-z_]*_proxy|[A-Z_]*CA_BUNDLE|[A-Z_]*_CERTS?|SSL_CERT_[A-Z]*|PIP_[A-Z_]*|npm_config_[a-z_]*)=' |
	grep -v '^PIP_FIND_LINKS=' || :)

inside() { # COMMAND...: as the new user, with nothing of this shell's environment
	home=/root
	[ "$user" = root ] || home=/home/$user
	(
		IFS='
'
		# shellcheck disable=SC2086 # one setting a line
		exec chroot --userspec="$user" "$root" env -i HOME="$home" USER="$user" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
			LANG=C.UTF-8 $settings "$@"
	)
}
if [ "$user" != root ]; then
	chroot "$root" sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends sudo && useradd --create-home --shell /bin/sh $user &&
		echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user" >"$root/var/log/user.log" 2>&1 ||
		{ tail -n 5 "$root/var/log/user.log" >&2; exit 2; }
fi
printf '%s' "$npmrc" | inside sh -c 'cat >"$HOME/.npmrc"'
git clone --quiet --bare "$top" "$root/srv/callgate.git"
inside sh -c 'git config --global safe.directory "*" && cd && git clone --quiet /srv/callgate.git callgate'

passed=0 failed=0
for target in ${only:-demo check}; do
	echo "fresh: make $target on $suite, as $user"
	started=$(date +%s)
	if inside sh -c "cd ~/callgate && exec make $target </dev/null"; then
		passed=$((passed + 1)) word=ok
	else
		failed=$((failed + 1)) word=FAIL
	fi
	echo "fresh: $word: make $target on $suite, $(($(date +%s) - started)) s"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
