#!/usr/bin/env bash
# Makes cases for make bench-checks of the tests of ESLint, fetched from its repository. usage: setup.sh DIR
set -euo pipefail
dir=$1
[ ! -s "$dir/cases.jsonl" ] || exit 0
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
if [ ! -d "$dir/source" ]; then
  git clone -q --filter=blob:none --no-checkout https://github.com/eslint/eslint.git "$dir/source"
  git -C "$dir/source" sparse-checkout set lib/rules tests/lib/rules
  git -C "$dir/source" checkout -q c27bc926e496985eb7911c09eb60914b2e4b5d0f
fi
node "$here/extract.cjs" "$dir/source" >"$dir/cases.tmp"
mv "$dir/cases.tmp" "$dir/cases.jsonl"
