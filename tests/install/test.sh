#!/bin/sh
# test.sh BUILD_DIR: installs into a folder of its own and uses what is there as a stranger would: the program, the
# shared and the static library, the pkg-config file, the man pages, from C and from C++.
set -u
build=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

check() {
	what=$1
	shift
	if "$@" >"$dir/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $what"
		cat "$dir/out"
	fi
}

DESTDIR=$dir meson install -C "$build" --no-rebuild --quiet >"$dir/log" 2>&1 || cat "$dir/log"
header=$(find "$dir" -name callgate.h)
prefix=$(dirname "$(dirname "$header")")
libdir=$(dirname "$(find "$dir" -name libcallgate.a)")

for file in bin/callgate include/callgate.h share/man/man1/callgate.1 share/man/man1/callgate-run.1 \
	share/man/man5/callgate-policy.5 share/man/man3/callgate.3 share/bash-completion/completions/callgate \
	share/zsh/site-functions/_callgate; do
	check "$file is installed" test -s "$prefix/$file"
done
check "the program runs" "$prefix/bin/callgate" --version
check "only cg_ symbols leave the shared library" sh -c "! nm -D --defined-only '$libdir/libcallgate.so' | grep -v ' cg_'"
check "only cg_ symbols leave the static library" \
	sh -c "! nm -g --defined-only '$libdir/libcallgate.a' | grep -E '^[0-9a-f]+ ' | grep -v ' cg_'"
check "every function of the header is there" sh -c "
	grep -oE 'cg_[a-z_]+\(' '$prefix/include/callgate.h' | tr -d '(' | sort -u >'$dir/declared'
	nm -D --defined-only '$libdir/libcallgate.so' | grep -oE 'cg_[a-z_]+\$' | sort -u >'$dir/defined'
	comm -23 '$dir/declared' '$dir/defined' | grep . && exit 1; exit 0"
check "the library needs libc and utf8proc only" \
	sh -c "! readelf -d '$libdir/libcallgate.so' | grep NEEDED | grep -v -e 'libc\.so' -e 'libutf8proc\.so'"

flags="-I$prefix/include"
check "pkg-config finds it" env PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir" \
	pkg-config --exists callgate
check "the example builds against the shared library" \
	cc -std=c11 -Wall -Wextra -Werror $flags "$top/examples/decide.c" -o "$dir/shared" -L"$libdir" -lcallgate
check "the example builds against the static library" \
	cc -std=c11 -Wall -Wextra -Werror $flags "$top/examples/decide.c" -o "$dir/static" "$libdir/libcallgate.a" -lutf8proc
printf '#include <callgate.h>\nint main() { return cg_abi_version() == CG_ABI_VERSION ? 0 : 1; }\n' >"$dir/x.cc"
check "it builds as C++" c++ -Wall -Wextra -Werror $flags "$dir/x.cc" -o "$dir/cxx" "$libdir/libcallgate.a" -lutf8proc
check "and runs as C++" "$dir/cxx"

cat >"$dir/policy.json" <<'END'
[{"id": "no-etc", "effect": "deny", "match": {"pathPrefix": "/etc"}, "reason": "system files"}]
END
want='does not run: {"kind":"deny","rule":"no-etc","reason":"system files"}
runs: {"kind":"allow"}
does not run: {"kind":"deny","rule":"default","reason":"no policy authored for tool '\''upload_file'\''"}'
for program in shared static; do
	got=$(printf '%s\n' '{"tool":"read_file","input":{"path":"/srv/../etc/passwd"}}' \
		'{"tool":"read_file","input":{"path":"/srv/x"}}' '{"tool":"upload_file"}' |
		LD_LIBRARY_PATH=$libdir "$dir/$program" "$dir/policy.json")
	check "the example decides ($program)" test "$got" = "$want"
done
check "the example has about 40 lines" test "$(wc -l <"$top/examples/decide.c")" -le 45

for command in $("$prefix/bin/callgate" --help | awk '/^  [a-z]/ {print $1}'); do
	check "callgate $command --help" sh -c "'$prefix/bin/callgate' $command --help | grep -q '^usage: callgate $command'"
	check "callgate(1) has $command" grep -q "$command" "$top/man/callgate.1.scd"
done
check "bash completes" bash -ec "PATH='$prefix/bin':\$PATH; . '$prefix/share/bash-completion/completions/callgate'
	COMP_WORDS=(callgate ev); COMP_CWORD=1; _callgate; [ \"\${COMPREPLY[*]}\" = eval ]
	COMP_WORDS=(callgate check --stri); COMP_CWORD=2; _callgate; [ \"\${COMPREPLY[*]}\" = --strict ]
	COMP_WORDS=(callgate check --format s); COMP_CWORD=3; _callgate; [ \"\${COMPREPLY[*]}\" = sarif ]
	COMP_WORDS=(callgate hook cl); COMP_CWORD=2; _callgate; [ \"\${COMPREPLY[*]}\" = claude-code ]"
check "looking makes no state directory" sh -c "
	[ \"\$('$prefix/bin/callgate' pending --format json --state '$dir/none')\" = '[]' ] &&
	'$prefix/bin/callgate' status --state '$dir/none' && ! '$prefix/bin/callgate' stats --state '$dir/none' &&
	[ ! -e '$dir/none' ]"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
