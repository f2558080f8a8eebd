#!/bin/sh
# Shows the gate in front of the real filesystem server, in a temporary directory. `make demo` calls it.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
callgate=${1:-$top/build/callgate}
[ -x "$callgate" ] || { echo "demo: there is no $callgate; run make first" >&2; exit 2; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/callgate-demo.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
"$top/tests/e2e/node" "$top/tests/e2e/demo.mjs" "$callgate" "$dir"
