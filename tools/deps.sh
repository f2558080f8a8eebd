#!/bin/sh
# deps.sh [build|check]: installs what is missing on a Debian machine, and only that: for a build, or for everything.
# Does nothing, quickly, when all is there.
set -eu
cd "$(dirname "$0")/.."
need=${1:-check}

build_packages="gcc make meson ninja-build pkg-config python3 libuv1-dev libssl-dev libsqlite3-dev scdoc"
check_packages="$build_packages libjansson-dev libcurl4-openssl-dev clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev valgrind
	g++ git procps"

packages=$build_packages
[ "$need" = build ] || packages=$check_packages

missing=
for package in $packages; do
	dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
done
# A Node of another origin is as good as Debian's.
if [ "$need" != build ] && ! { command -v node && command -v npm; } >/dev/null 2>&1; then
	missing="$missing nodejs npm"
fi
if [ -n "$missing" ]; then
	echo "installing:$missing" >&2
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get update -qq >&2
	# shellcheck disable=SC2086 # a list of words
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >&2
fi

if [ "$need" != build ]; then
	lock=tests/e2e/package-lock.json
	stamp=tests/e2e/node_modules/.package-lock.json
	if [ ! -e "$stamp" ] || [ "$lock" -nt "$stamp" ]; then
		echo "installing the npm packages of the tests" >&2
		npm --prefix tests/e2e ci --no-audit --no-fund --silent >&2
		touch "$stamp"
	fi
fi
