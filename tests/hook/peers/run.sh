#!/bin/sh
# run.sh CALLGATE: drives the hosts' own programs with our hook, as far as it goes without a network: a model of our own
# on the loopback interface asks for the calls. Installs the hosts first (about 1 GB), so it is a part of make soak only.
# For each host, single calls (HOST.mjs), then a whole small task with a gate before a server beside the hook (task.mjs),
# and one in a confinement (confined.mjs).
set -u
callgate=$(realpath "$1")
cd "$(dirname "$0")" || exit 2
if ! npm install --no-audit --no-fund --silent; then
	echo "skipped: the hosts cannot be had from npm here"
	exit 77
fi
failed=0
for peer in "claude-code node_modules/@anthropic-ai/claude-code-linux-x64/claude" \
	"gemini node_modules/@google/gemini-cli/bundle/gemini.js" "codex node_modules/@openai/codex/bin/codex.js" \
	"opencode node_modules/opencode-linux-x64/bin/opencode"; do
	# shellcheck disable=SC2086 # two words
	set -- $peer
	node "$1.mjs" "$callgate" "$(realpath "$2")" || failed=1
	node task.mjs "$callgate" "$(realpath "$2")" "$1" || failed=1
	[ "$1" = gemini ] || node confined.mjs "$callgate" "$(realpath "$2")" "$1" || failed=1
done
exit $failed
