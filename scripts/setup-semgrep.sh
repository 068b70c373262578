#!/usr/bin/env bash
# Installs Semgrep, beside which `make bench-peers` measures, from the Python package index into a folder of its own: setup-semgrep.sh DIR
set -euo pipefail
dir=$1
. "$(dirname "$0")/certificates.sh"
[[ -x $dir/bin/semgrep ]] && exit
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check semgrep
