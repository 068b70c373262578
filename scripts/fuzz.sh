#!/usr/bin/env bash
# Runs every fuzz target of the given packages, each for FUZZTIME (default 10s): scripts/fuzz.sh ./...
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

found=0
while read -r directory package; do
	# Listing targets builds the test binary, so packages without one are left out first.
	grep -qs '^func Fuzz' "$directory"/*_test.go || continue
	while read -r target; do
		found=$((found + 1))
		echo "== $package $target"
		go test -vet=off -run='^$' -fuzz="^$target\$" -fuzztime="${FUZZTIME:-10s}" "$package"
	done < <(go test -vet=off -list='^Fuzz' "$package" | grep '^Fuzz')
done < <(go list -f '{{.Dir}} {{.ImportPath}}' "$@")
[ "$found" -gt 0 ] || {
	echo "fuzz: no fuzz target in $*" >&2
	exit 1
}
