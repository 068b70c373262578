#!/usr/bin/env bash
# Installs Semgrep, beside which `make bench-peers` measures, from the Python package index into a folder of its own: setup-semgrep.sh DIR
set -euo pipefail
version=1.185.0
dir=$1
[[ -x $dir/bin/semgrep && $("$dir/bin/python" -c 'import importlib.metadata as m; print(m.version("semgrep"))') == "$version" ]] && exit
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check "semgrep==$version"
