#!/usr/bin/env bash
# Runs clients and servers of the official Python and TypeScript SDKs of the Model Context Protocol with bin/tenet gateway mcp between them, each
# way and over both transports. Those of the Go SDK run in the tests. Needs npm and Python 3.10 or newer; what it installs goes into a cache.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/certificates.sh

readonly python=2.3.0 typescript=1.32.2 zod=4.1.12
cache="${TENET_CONFORMANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenet/conformance-gateway-$python-$typescript}"
for program in npm node python3; do
	command -v "$program" >/dev/null || {
		echo "conformance-gateway: $program is missing" >&2
		exit 1
	}
done
[ -x "$cache/python/bin/python" ] || {
	python3 -m venv "$cache/python"
	"$cache/python/bin/pip" install --quiet "mcp==$python"
}
[ -d "$cache/node_modules/@modelcontextprotocol/sdk" ] ||
	npm install --silent --no-audit --no-fund --no-save --prefix "$cache" "@modelcontextprotocol/sdk@$typescript" "zod@$zod"
cp scripts/conformance-gateway/* "$cache/" # modules are looked up beside the scripts

work="$(mktemp -d)"
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT
port() { node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
await() {
	for _ in $(seq 300); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.1
	done
	echo "conformance-gateway: nothing listens on port $1" >&2
	exit 1
}

cat >"$work/rules.yaml" <<'END'
rules:
  - {slug: T-1, statement: Agents must not call what is forbidden., modality: MUST, severity: HIGH, status: EFFECTIVE,
     applies_to: {tools: [forbidden]}, check: {cel: "false", message: It is forbidden.}}
  - {slug: T-2, statement: Agents must number calls below 1000000., modality: MUST, severity: HIGH, status: EFFECTIVE,
     applies_to: {tools: [echo, work, fail, hang, resources/read]}, check: {cel: "!('n' in facts.arguments) || facts.arguments.n < 1000000.0"}}
END
real="$(port)"
bin/tenet serve --no-seed --listen "127.0.0.1:$real" --data "$work/data" >"$work/tenet.log" 2>&1 &
pids+=($!)
await "$real"
export TENET_SERVER="http://127.0.0.1:$real"
bin/tenet rules import "$work/rules.yaml" >/dev/null
tenet="$PWD/bin/tenet"
gateway=("$tenet" --server "$TENET_SERVER" gateway mcp --pins "$work/pins")
declare -A client=([python]="$cache/python/bin/python $cache/client.py" [typescript]="node $cache/client.mjs")
declare -A server=([python]="$cache/python/bin/python $cache/server.py" [typescript]="node $cache/server.mjs")

declare -A at
for s in python typescript; do
	at[$s]="$(port)"
	${server[$s]} "${at[$s]}" >"$work/$s.log" 2>&1 &
	pids+=($!)
	await "${at[$s]}"
done
remote() { [ "$1" = python ] && echo "http://127.0.0.1:${at[$1]}/mcp" || echo "http://127.0.0.1:${at[$1]}/"; }

for s in python typescript; do
	forward="$(port)" hosted="$(port)"
	"${gateway[@]}" --name "$s" --listen "127.0.0.1:$forward" --to "$(remote "$s")" 2>"$work/forward.log" &
	pids+=($!)
	"${gateway[@]}" --name "$s" --listen "127.0.0.1:$hosted" --to ${server[$s]} 2>"$work/hosted.log" &
	pids+=($!)
	await "$forward"
	await "$hosted"
	for c in python typescript; do
		echo "$c client, standard streams, $s server on standard streams"
		${client[$c]} "${gateway[@]}" --name "$s" --to ${server[$s]} 2>"$work/err" || { cat "$work/err" >&2; exit 1; }
		echo "$c client, standard streams, $s server over HTTP"
		${client[$c]} "${gateway[@]}" --name "$s" --to "$(remote "$s")" 2>"$work/err" || { cat "$work/err" >&2; exit 1; }
		echo "$c client, HTTP, $s server over HTTP"
		${client[$c]} "http://127.0.0.1:$forward/" || { cat "$work/forward.log" >&2; exit 1; }
		echo "$c client, HTTP, $s server on standard streams"
		${client[$c]} "http://127.0.0.1:$hosted/" || { cat "$work/hosted.log" >&2; exit 1; }
	done
done
