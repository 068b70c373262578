#!/usr/bin/env bash
# Runs the fuzz targets of the given packages, each for FUZZTIME (default 10s), and their property tests from a random seed
# with CHECKS draws (default 2000): scripts/fuzz.sh ./... ./client/...
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

found=0
while read -r directory package; do
	properties=$(awk '/^func Test/ { split($2, name, "(") } /proptest\.Check\(/ { print name[1] }' "$directory"/*_test.go 2>/dev/null | sort -u | paste -sd '|')
	if [ -n "$properties" ]; then
		found=$((found + 1))
		echo "== $package $properties"
		RAPID_SEED=0 RAPID_CHECKS="${CHECKS:-2000}" go test -vet=off -count=1 -timeout=3h -run="^($properties)\$" "$package"
	fi
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
