#!/usr/bin/env bash
# Measures how long a hook takes on an edit of one file that checks decide, from the start of the process to its end: against a warm
# server, and embedded. Prints the median of RUNS (40) runs in milliseconds. Bars: 50 ms and 200 ms.
set -euo pipefail
cd "$(dirname "$0")/.."

temp=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$temp"' EXIT
if [[ -n ${TENET_BIN:-} ]]; then cp "$TENET_BIN" "$temp/tenet"; else CGO_ENABLED=0 go build -trimpath -o "$temp/tenet" ./cmd/tenet; fi
export HOME=$temp
printf 'import os\n\n\ndef f(x):\n    return 1\n' >"$temp/app.py"
printf '{"hook_event_name":"PreToolUse","cwd":"%s","tool_name":"Edit","tool_input":{"file_path":"%s/app.py","old_string":"return 1","new_string":"return x + 1"}}' \
  "$temp" "$temp" >"$temp/edit.json"

median() {
  for ((i = 0; i < ${RUNS:-40}; i++)); do
    local began=$EPOCHREALTIME
    "$temp/tenet" hook claude-code "$@" <"$temp/edit.json"
    local ended=$EPOCHREALTIME
    echo $((${ended/./} - ${began/./}))
  done | sort -n | awk '{t[NR] = $1} END {printf "%.1f ms (fastest %.1f, slowest %.1f)\n", t[int((NR + 1) / 2)] / 1000, t[1] / 1000, t[NR] / 1000}'
}

address=127.0.0.1:${PORT:-18766}
"$temp/tenet" serve --listen "$address" --data "$temp/data" >"$temp/serve.log" 2>&1 &
server=$!
until "$temp/tenet" hook claude-code --server "http://$address" <"$temp/edit.json" >/dev/null 2>&1; do sleep 0.1; done
echo "against a warm server: $(median --server "http://$address")"
echo "embedded, with the starter packs: $(median)"
kill "$server"
wait "$server" || true
server=
echo "embedded, with a database: $(median --data "$temp/data")"
