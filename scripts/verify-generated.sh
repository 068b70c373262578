#!/usr/bin/env bash
# Fails if a generated file is not what its generator writes now. Generators run on a copy, so the work tree stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

git grep --untracked -qE '^//go:generate ' -- '*.go' || exit 0

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/a"
# Every file that is there and not ignored, committed or not.
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
	tar -c --null --files-from=- | tar -x -C "$copy/a"
cp -a "$copy/a" "$copy/b"

# As the program is built, and without the folder's name: what that build has compiled is not compiled again.
export CGO_ENABLED=0 GOFLAGS="-trimpath ${GOFLAGS:-}"
(cd "$copy/b" && go generate ./...)
diff -ru "$copy/a" "$copy/b" || {
	echo "verify: the generated files above are not up to date; run: make generate" >&2
	exit 1
}
