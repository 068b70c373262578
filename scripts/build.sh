#!/usr/bin/env bash
# Builds the program: scripts/build.sh OUT VERSION
#
# The first build compiles every library, which takes minutes, and says how far it is. Where Go is missing, the program comes from a
# release, checked as scripts/ci/install.sh does: TENET_RELEASES is its address, which is the repository's own where that is on GitHub.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 version=$2

if ! command -v go >/dev/null; then
	release=$(cat VERSION)
	[ "$("$out" version 2>/dev/null | cut -d' ' -f2)" != "$release" ] || exit 0
	origin=$(git remote get-url origin 2>/dev/null || true)
	if [ -z "${TENET_RELEASES:-}" ] && [[ $origin =~ ^(https://|git@|ssh://git@)github\.com[:/]([^/]+/[^/]+)$ ]]; then
		TENET_RELEASES=https://github.com/${BASH_REMATCH[2]%.git}/releases
	fi
	if [ -z "${TENET_RELEASES:-}" ]; then
		echo "build: Go is missing. Install Go $(awk '$1 == "go" { print $2 }' go.mod), or set TENET_RELEASES to the address of the releases, such as https://github.com/OWNER/tenet/releases" >&2
		exit 2
	fi
	echo "== Go is missing: taking release $release from $TENET_RELEASES in place of a build" >&2
	export TENET_RELEASES
	exec sh scripts/ci/install.sh "$release" "$(dirname "$out")"
fi

export CGO_ENABLED=0
flags=(-trimpath -buildvcs=false -ldflags "-s -w -X tenet/internal/cli.Version=$version" -o "$out" ./cmd/tenet)
if [ -e "$out" ]; then
	exec go build "${flags[@]}"
fi
echo "== building $out; the first build downloads and compiles every library, which takes minutes. Later ones take seconds" >&2
total=$(go list -deps ./cmd/tenet | wc -l)
# -v names each package as its compilation begins. Everything else on standard error is for the reader.
go build -v "${flags[@]}" 2>&1 | awk -v total="$total" '
	/^[^ #:]+$/ { if (++n % 50 == 0) { print "== compiling: " n " of at most " total " packages"; fflush() } next }
	{ print; fflush() }' >&2
