#!/usr/bin/env bash
# Builds the program as it was at a commit, which the repository must have:
#
#   scripts/build-older.sh COMMIT FILE
set -euo pipefail
if [[ $# -ne 2 ]]; then
	echo "usage: $0 COMMIT FILE" >&2
	exit 2
fi
if ! commit=$(git rev-parse --quiet --verify "$1^{commit}"); then
	echo "build-older: this repository has no commit $1 (a shallow clone?); name one with OLDER=COMMIT" >&2
	exit 1
fi
mkdir -p "$(dirname "$2")"
file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git archive "$commit" | tar -x -C "$dir"
(cd "$dir" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-X tenet/internal/cli.Version=older.${commit:0:8}" -o "$file" ./cmd/tenet)
