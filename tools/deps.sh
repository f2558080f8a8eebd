#!/bin/sh
# deps.sh [build|demo|check|deb|packages]: installs what is missing for a build, for the demo, for all tests, for Debian's
# packages, or for all packages and their tests, and only that. Does nothing, quickly, when all is there. What the
# package managers print goes into deps.log. `deps.sh list` prints what a build needs, as Debian calls it.
set -eu
cd "$(dirname "$0")/.."
need=${1:-check}
log=deps.log

# One list a purpose, each with all of the one before it. `packages` is what Debian calls them.
# zlib and zstd: the static libcrypto of newer releases needs them. libcurl: for notices by webhook.
packages="gcc libc6-dev meson ninja-build pkg-config python3 scdoc libuv1-dev libssl-dev libsqlite3-dev
	libutf8proc-dev libcurl4-openssl-dev libncurses-dev libseccomp-dev libwslay-dev
	libmicrohttpd-dev libfido2-dev zlib1g-dev libzstd-dev"
case $need in
build) ;;
list) echo $packages; exit 0 ;;
demo | check) packages="$packages ca-certificates" ;;
deb) packages="$packages build-essential debhelper dh-apparmor dpkg-dev" ;;
packages) packages="$packages ca-certificates build-essential debhelper dh-apparmor dpkg-dev debootstrap git python3-venv
	buildah" ;;
*) echo "usage: tools/deps.sh [build|demo|check|deb|packages|list]" >&2; exit 2 ;;
esac
if [ "$need" = check ]; then
	# The last line: shells that the tests compare our reading of commands with.
	packages="$packages clang libclang-rt-dev g++ git curl procps psmisc tmux valgrind libjansson-dev python3-venv
		dash zsh mksh ksh busybox"
fi
# npm of another origin than Debian's is as good. It only installs: the tests run on the Node of the lock file.
if [ "$need" != build ] && [ "$need" != deb ] && ! command -v npm >/dev/null 2>&1; then
	packages="$packages npm"
fi

fail() {
	echo "callgate: $1" >&2
	exit 2
}

# Says what of the list is not installed. A name that another package provides counts as installed.
missing_packages() {
	# shellcheck disable=SC2086 # a list of words
	dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null | awk -v want="$*" '
		$1 == "installed" { gsub(/,/, ""); for (i = 2; i <= NF; i++) have[$i] = 1 }
		END { n = split(want, names); for (i = 1; i <= n; i++) if (!(names[i] in have)) printf " %s", names[i] }'
}

# On a system without Debian's packages: what a build needs, by the programs and libraries themselves.
missing_tools() {
	for tool in cc meson ninja pkg-config python3 scdoc; do
		command -v "$tool" >/dev/null 2>&1 || printf ' %s' "$tool"
	done
	for library in libuv libcrypto sqlite3 libutf8proc; do
		pkg-config --exists "$library" 2>/dev/null || printf ' %s' "$library"
	done
	[ "$need" = build ] || [ "$need" = deb ] || command -v npm >/dev/null 2>&1 || printf ' npm'
}

# quietly WHAT COMMAND...: runs it; says WHAT first, and shows the end of its output only if it fails.
quietly() {
	what=$1
	shift
	echo "callgate: $what" >&2
	printf '\n== %s\n' "$*" >>"$log"
	"$@" >"$log.part" 2>&1 && failed=0 || failed=$?
	cat "$log.part" >>"$log"
	if [ "$failed" != 0 ]; then
		grep -v '^[[:space:]]*$' "$log.part" | tail -n 15 | sed 's/^/    /' >&2
		rm -f "$log.part"
		fail "this failed; all that it printed is in $PWD/$log"
	fi
	rm -f "$log.part"
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
	missing=$(missing_tools)
	[ -z "$missing" ] || fail "this system has no apt-get. Please install:$missing
    (Debian's names: $(echo $packages))"
else
	# shellcheck disable=SC2086
	missing=$(missing_packages $packages)
	if [ -n "$missing" ]; then
		sudo=
		if [ "$(id -u)" != 0 ]; then
			command -v sudo >/dev/null 2>&1 ||
				fail "packages are missing, and only root can install them. Ask for: apt-get install$missing"
			sudo=sudo
		fi
		: >"$log"
		quietly "reading Debian's lists of packages" $sudo apt-get update -q
		# shellcheck disable=SC2086
		quietly "installing from Debian:$missing" $sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -q --no-install-recommends $missing
	fi
fi
case $need in build | deb | packages) exit 0 ;; esac

# npm_packages FOLDER STAMP OPTION...: what the folder's lock file names, unless the stamp says that it is there.
npm_packages() {
	folder=$1
	stamp=$1/node_modules/$2
	shift 2
	if [ ! -e "$stamp" ] || [ "$folder/package-lock.json" -nt "$stamp" ]; then
		quietly "installing the npm packages of $folder" npm --prefix "$folder" ci --no-audit --no-fund \
			--no-update-notifier "$@"
		touch "$stamp"
	fi
}
if [ "$need" = check ]; then
	npm_packages tests/e2e .all-installed
elif [ ! -e tests/e2e/node_modules/.all-installed ]; then
	npm_packages tests/e2e .demo-installed --omit=dev
fi
[ "$need" = check ] || exit 0

# clang-format and clang-tidy of one version everywhere: another one formats and warns differently. The Python SDK of
# MCP is one of the clients that the gate is tried with.
stamp=.venv/installed
sdk=tests/e2e/clients/requirements.txt
if [ ! -e "$stamp" ] || [ tools/requirements.txt -nt "$stamp" ] || [ "$sdk" -nt "$stamp" ]; then
	rm -rf .venv
	quietly "making a Python environment in .venv" python3 -m venv .venv
	quietly "installing clang-format, clang-tidy, ada-url and the Python SDK of MCP from PyPI" \
		.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r tools/requirements.txt -r "$sdk"
	touch "$stamp"
fi
