#!/usr/bin/env bash
# Tests the clients for Python and TypeScript: types, the vectors of sdk/vectors, and calls to bin/tenet on the loopback interface.
#
#   scripts/test-sdk.sh [python] [typescript]
#
# What the tests need is pinned with hashes and kept in a cache (TENET_SDK_CACHE). A client whose tools cannot be had is skipped with a
# message; where CI is set, that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

chosen=("$@")
[ $# -gt 0 ] || chosen=(python typescript)
cache="${TENET_SDK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenet/sdk}"
export TENET_PROGRAM="${TENET_PROGRAM:-$PWD/bin/tenet}"
[ -x "$TENET_PROGRAM" ] || {
	echo "test-sdk: $TENET_PROGRAM is missing; run: make build" >&2
	exit 1
}

# skip LANGUAGE REASON: gives up a client whose tools cannot be had.
skip() {
	if [ -n "${CI:-}" ]; then
		echo "test-sdk: $1: $2" >&2
		exit 1
	fi
	echo "test-sdk: SKIPPED $1: $2" >&2
}

# python_program prints the first Python that the client supports and that can make virtual environments.
python_program() {
	local program
	for program in python3 python3.13 python3.12 python3.11 python3.10; do
		if "$program" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
			command -v "$program"
			return
		fi
	done
	return 1
}

test_python() {
	local program venv
	program="$(python_program)" || { scripts/setup-build.sh python3-venv && program="$(python_program)"; } || {
		skip python "Python 3.10 or newer with the module venv is missing"
		return 0
	}
	venv="$cache/python-$({ "$program" -c 'import sys; print(sys.version)'; cat sdk/python/requirements-dev.txt; } | sha256sum | cut -c1-16)"
	if [ ! -e "$venv/complete" ]; then
		rm -rf "$venv"
		echo "test-sdk: installing what the tests of the Python client need" >&2
		"$program" -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r sdk/python/requirements-dev.txt || {
			skip python "the packages of sdk/python/requirements-dev.txt cannot be installed"
			return 0
		}
		touch "$venv/complete"
	fi
	(
		cd sdk/python
		export PYTHONPATH="$PWD/src" PYTHONDONTWRITEBYTECODE=1 MYPYPATH="$PWD/src"
		"$venv/bin/mypy" --cache-dir "$venv/mypy"
		"$venv/bin/python" -m pytest -p no:cacheprovider
	)
}

test_typescript() {
	local copy
	command -v npm >/dev/null || scripts/setup-build.sh node npm || {
		skip typescript "Node.js 18 or newer with npm is missing"
		return 0
	}
	[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 18')" = true ] || {
		skip typescript "Node.js 18 or newer is missing"
		return 0
	}
	copy="$cache/typescript-$(sha256sum sdk/typescript/package-lock.json | cut -c1-16)"
	if [ ! -e "$copy/complete" ]; then
		rm -rf "$copy" && mkdir -p "$copy"
		cp sdk/typescript/package.json sdk/typescript/package-lock.json "$copy/"
		echo "test-sdk: installing what the tests of the TypeScript client need" >&2
		npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$copy" >/dev/null || {
			skip typescript "the packages of sdk/typescript/package-lock.json cannot be installed"
			return 0
		}
		touch "$copy/complete"
	fi
	rm -rf "$copy/src" "$copy/test" "$copy/dist"
	cp -r sdk/typescript/src sdk/typescript/test sdk/typescript/tsconfig*.json "$copy/"
	TENET_VECTORS="$PWD/sdk/vectors" npm --prefix "$copy" --silent test
}

for name in "${chosen[@]}"; do
	started=$SECONDS
	"test_$name"
	echo "test-sdk: $name took $((SECONDS - started)) s"
done
