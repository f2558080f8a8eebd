#!/bin/sh
# use.sh PROGRAM...: a gate of this program in front of a server, one call that it denies and one that a person approves;
# then what is on record. PROGRAM may be several words. STATE: a state directory other than the standard one. SERVER: the
# words of a server that answers every request (default: one in sh). FOLDER: where the policy goes.
set -eu
dir=${FOLDER:-$(mktemp -d)}
shown=${FOLDER_THERE:-$dir}
state=${STATE:+--state $STATE}
cat >"$dir/policy.json" <<'END'
[
  {"id": "no-etc", "effect": "deny", "match": {"pathPrefix": "/etc"}, "reason": "system files"},
  {"id": "ask", "effect": "require_approval", "match": {"tool": "write_file"}, "ttlMs": 60000}
]
END
cat >"$dir/server.sh" <<'END'
while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	[ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}\n' "$id"
done
END
rm -f "$dir/to" "$dir/from"
mkfifo "$dir/to"
# shellcheck disable=SC2086 # lists of words
"$@" run $state --policy "$shown/policy.json" --server fs -- ${SERVER:-sh "$dir/server.sh"} \
	<"$dir/to" >"$dir/from" 2>"$dir/said" &
gate=$!
exec 3>"$dir/to"
finish() {
	exec 3>&-
	kill "$gate" 2>/dev/null || :
	[ -n "${FOLDER:-}" ] || rm -rf "$dir"
}
trap finish EXIT
fail() {
	echo "$1" >&2
	cat "$dir/said" "$dir/from" >&2
	exit 1
}
wait_for() { # WORDS...: until the command succeeds, or half a minute has passed
	left=150
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.2
	done
}
answered() { grep -q "\"id\":$1[,}].*$2" "$dir/from"; }
waiting() {
	# shellcheck disable=SC2086
	code=$("$program" "$@" pending --format json $state | sed -n 's/.*"code":"\([a-z]*\)".*/\1/p')
	[ -n "$code" ]
}
program=$1
shift

echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"use","version":"1"}}}' >&3
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/srv/../etc/passwd"}}}' >&3
echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/srv/x"}}}' >&3
wait_for answered 2 'was denied.*"isError":true'
wait_for waiting "$@"
! answered 3 . || fail "the call did not wait for a person"
# shellcheck disable=SC2086
"$program" "$@" approve "$code" $state >"$dir/approved" 2>&1 || { cat "$dir/approved" >&2; fail "not approved"; }
wait_for answered 3 'done'
exec 3>&-
wait "$gate" || fail "the gate ended with $?"
# shellcheck disable=SC2086
"$program" "$@" journal verify $state
