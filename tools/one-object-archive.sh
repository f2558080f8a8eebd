#!/bin/sh
# one-object-archive.sh OUTPUT ARCHIVE...: joins archives into one object whose only global symbols are cg_*.
set -eu
output=$1
shift
object=$(dirname "$output")/callgate-whole.o
ld -r -o "$object" --whole-archive "$@"
objcopy --wildcard --keep-global-symbol='cg_*' "$object"
rm -f "$output"
ar rcsD "$output" "$object"
rm -f "$object"
