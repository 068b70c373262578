#!/usr/bin/env bash
# Renders the Helm chart with several sets of values and checks the objects against three versions of Kubernetes, without a cluster.
# What it needs is kept in a cache (TENET_SDK_CACHE). Where it cannot be had, the check is skipped with a message; with TENET_CHART_REQUIRED=yes,
# that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -qx "version: $(cat VERSION)" deploy/helm/tenet/Chart.yaml || {
	echo "test-chart: Chart.yaml has another version than VERSION" >&2
	exit 1
}
cache="${TENET_SDK_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tenet/sdk}"
venv="$cache/chart-$({ python3 --version; cat deploy/helm/requirements.txt; } | sha256sum | cut -c1-16)"
if [ ! -e "$venv/complete" ]; then
	rm -rf "$venv"
	if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --no-deps -r deploy/helm/requirements.txt; }; then
		[ -z "${TENET_CHART_REQUIRED:-}" ] || exit 1
		echo "test-chart: SKIPPED: Python or its packages cannot be had" >&2
		exit 0
	fi
	touch "$venv/complete"
fi
"$venv/bin/python" scripts/test-chart.py deploy/helm/tenet
