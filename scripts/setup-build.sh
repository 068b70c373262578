#!/usr/bin/env bash
# Makes sure that the programs named on the command line are there: scripts/setup-build.sh gcc git make
# What is missing is installed by apt-get where that is possible (root on Debian or Ubuntu), else named with what to do.
set -euo pipefail

declare -A package=([chromium]="chromium" [gcc]="gcc libc6-dev" [git]="git" [make]="make" [node]="nodejs" [npm]="npm" [pgbouncer]="pgbouncer" [python3-venv]="python3 python3-venv")
missing=()
for program in "$@"; do
	command -v "$program" >/dev/null || missing+=("$program")
done
# A compiler without the C library's headers cannot build the race detector's support code.
if [[ " $* " == *" gcc "* && " ${missing[*]:-} " != *" gcc "* ]] && ! echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; then
	missing+=(gcc)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

wanted=()
for program in "${missing[@]}"; do
	read -ra names <<<"${package[$program]}"
	wanted+=("${names[@]}")
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "setup: ${missing[*]} is missing or incomplete; install it first. On Debian: sudo apt-get install ${wanted[*]}" >&2
	exit 1
fi
echo "setup: installing ${wanted[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends "${wanted[@]}" </dev/null >/dev/null 2>&1 || {
	apt-get update -q </dev/null >/dev/null
	apt-get install -y --no-install-recommends "${wanted[@]}" </dev/null >/dev/null
}
