#!/bin/sh
# fresh.sh [--only COMMAND] [--user] [--keep] SUITE: what a new user meets. Makes a bare Debian system of that suite
# (bookworm, trixie) that has git and make and nothing else, clones this checkout's last commit in it, and runs
# `make demo` and `make check` there (with --only TARGET, that target alone: demo, or minutes for the first ten minutes). Ends with "N passed, N failed".
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

# The first run inside this script's own mounts: they go when it ends, in whatever way it ends.
if [ "${CALLGATE_FRESH_INSIDE:-}" != yes ]; then
	export CALLGATE_FRESH_INSIDE=yes
	exec unshare --mount --pid --fork --kill-child --propagation private "$0" \
		${only:+--only "$only"} $([ "$user" = root ] || echo --user) ${keep:+--keep} "$suite"
fi

. "$top/tools/bare.sh"
root=$(mktemp -d "/var/tmp/callgate-fresh-$suite.XXXXXX")
leave() {
	umount -R "$root/dev" "$root/proc" 2>/dev/null || :
	if [ -n "$keep" ]; then echo "fresh: the system is left in $root"; else rm -rf --one-file-system "$root"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM
bare_root "$suite" "$root"

inside() { # COMMAND...: as the new user, with nothing of this shell's environment
	home=/root
	[ "$user" = root ] || home=/home/$user
	bare_run "$root" "$user" "$home" "$@"
}
if [ "$user" != root ]; then
	chroot "$root" sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends sudo && useradd --create-home --shell /bin/sh $user &&
		echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user" >"$root/var/log/user.log" 2>&1 ||
		{ tail -n 5 "$root/var/log/user.log" >&2; exit 2; }
fi
bare_npmrc | inside sh -c 'cat >"$HOME/.npmrc"'
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
