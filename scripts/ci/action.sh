#!/usr/bin/env bash
# What the GitHub Action does: install Tenet, judge the change, write annotations, a job summary, SARIF and a comment.
# It takes its inputs from INPUT_* and GITHUB_*, so that it runs, and is tested, without GitHub. TENET_BIN names a program that is
# there already. It exits with the code of `tenet check`, and with 2 if it cannot get that far.
set -euo pipefail

fail() {
  echo "::error title=Tenet::$1"
  exit 2
}

temp=${RUNNER_TEMP:-$(mktemp -d)}
output=${GITHUB_OUTPUT:-/dev/null}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}

# A release is downloaded and kept only if it is the one that the workflow, or else checksums.txt of the release, names.
download() {
  local said
  said=$(TENET_RELEASES=${INPUT_DOWNLOAD:-} TENET_SHA256=${INPUT_SHA256:-} "$GITHUB_ACTION_PATH/scripts/ci/install.sh" "$1" "$temp/tenet-bin" 2>&1) ||
    fail "${said//$'\n'/%0A}"
}

build() {
  command -v go >/dev/null || fail 'To build Tenet from source, set Go up before this step.'
  (cd "$GITHUB_ACTION_PATH" && CGO_ENABLED=0 go build -trimpath -o "$temp/tenet-bin/tenet" ./cmd/tenet) || fail 'Tenet cannot be built.'
}

if [[ -z ${TENET_BIN:-} ]]; then
  if [[ ${INPUT_VERSION:-} == source ]]; then build; else download "${INPUT_VERSION:-$(cat "$GITHUB_ACTION_PATH/VERSION")}"; fi
  TENET_BIN=$temp/tenet-bin/tenet
fi

base=${INPUT_BASE:-}
if [[ -z $base && -n ${GITHUB_BASE_REF:-} ]]; then base=origin/$GITHUB_BASE_REF; fi
# A push may bring many commits: what was there before it is the base, and for a new branch the default branch is.
if [[ -z $base && ${INPUT_BEFORE:-} =~ [1-9a-f] ]]; then base=$INPUT_BEFORE; fi
if [[ -z $base && -n ${INPUT_BEFORE:-} && -n ${INPUT_DEFAULT_BRANCH:-} ]]; then base=origin/$INPUT_DEFAULT_BRANCH; fi
if [[ -z $base ]]; then base=HEAD^; fi
git rev-parse --quiet --verify --end-of-options "$base^{commit}" >/dev/null ||
  fail "The base $base is not there. Check out with fetch-depth: 0."

sarif=$temp/tenet.sarif
comment=$temp/tenet.md
rm -f "$sarif" "$comment" # of an earlier step
arguments=(check --base "$base" --format github --also "sarif=$sarif" --also "markdown=$comment" --fail-on "${INPUT_FAIL_ON:-deny}")
if [[ -n ${INPUT_SERVER:-} ]]; then arguments+=(--server "$INPUT_SERVER"); fi
if [[ -n ${INPUT_PROJECT:-} ]]; then arguments+=(--project "$INPUT_PROJECT"); fi
if [[ -n ${INPUT_UNDECIDED:-} ]]; then arguments+=(--undecided "$INPUT_UNDECIDED"); fi
# Rules in the repository: tenet takes them from the base, so that a change does not choose what judges it.
if [[ -n ${INPUT_RULES:-} ]]; then arguments+=(--rules "$INPUT_RULES"); fi

# Comments need a token, which the check, that reads foreign files, does not.
token=${TENET_REVIEW_TOKEN:-}
unset TENET_REVIEW_TOKEN
code=0
"$TENET_BIN" "${arguments[@]}" || code=$?

echo "exit-code=$code" >>"$output"
if [[ -s $sarif ]]; then echo "sarif=$sarif" >>"$output"; fi
if [[ -s $comment ]]; then
  echo "comment=$comment" >>"$output"
  cat "$comment" >>"$summary"
fi
# A check that failed says nothing of what is mended. Comments that cannot be written do not change the verdict.
if [[ ${INPUT_REVIEW:-} == true && $code -le 1 && -s $sarif ]]; then
  said=$(TENET_REVIEW_TOKEN=$token "$TENET_BIN" review "$sarif" --forge github 2>&1) && echo "$said" || echo "::warning title=Tenet::No comments: ${said//$'\n'/%0A}"
fi
if [[ $code -gt 1 ]]; then echo "::error title=Tenet::The change could not be judged (exit code $code)."; fi
exit "$code"
