#!/usr/bin/env bash
# Tests the clients for Python and TypeScript: types, the vectors of sdk/vectors, and calls to bin/tenet on the loopback interface.
#
#   scripts/test-sdk.sh [python] [typescript] [adapters]
#
# adapters tests those for agent frameworks, with the real packages and fake models; their packages are heavy, so only by name.
# What the tests need is pinned with hashes and kept in a cache (TENET_SDK_CACHE). A client whose tools cannot be had is skipped with a
# message; with TENET_SDK_REQUIRED=yes, that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/certificates.sh

chosen=("$@")
[ $# -gt 0 ] || chosen=(python typescript)
cache="${TENET_SDK_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tenet/sdk}"
export TENET_PROGRAM="${TENET_PROGRAM:-$PWD/bin/tenet}"
[ -x "$TENET_PROGRAM" ] || {
	echo "test-sdk: $TENET_PROGRAM is missing; run: make build" >&2
	exit 1
}

# alone NAME: waits until no other run of this script uses the cache of a client. The run keeps it until it ends.
alone() {
	mkdir -p "$cache"
	command -v flock >/dev/null || return 0
	exec {held}>"$cache/$1.lock"
	flock "$held"
}

# skip LANGUAGE REASON: gives up a client whose tools cannot be had.
skip() {
	if [ -n "${TENET_SDK_REQUIRED:-}" ]; then
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

# python_packages LOCK: makes a virtual environment with the packages of a lock, which names all of them, and sets venv. False if it cannot be had.
python_packages() {
	local program
	program="$(python_program)" || { scripts/setup-build.sh python3-venv && program="$(python_program)"; } || {
		skip python "Python 3.10 or newer with the module venv is missing"
		return 1
	}
	venv="$cache/python-$({ "$program" -c 'import sys; print(sys.version)'; cat "$1"; } | sha256sum | cut -c1-16)"
	[ -e "$venv/complete" ] && return
	rm -rf "$venv"
	echo "test-sdk: installing the packages of $1" >&2
	"$program" -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$1" && "$venv/bin/pip" --disable-pip-version-check check >/dev/null || {
		skip python "the packages of $1 cannot be installed"
		return 1
	}
	touch "$venv/complete"
}

test_python() {
	python_packages sdk/python/requirements-dev.txt || return 0
	(
		cd sdk/python
		export PYTHONPATH="$PWD/src" PYTHONDONTWRITEBYTECODE=1 MYPYPATH="$PWD/src"
		"$venv/bin/mypy" --cache-dir "$venv/mypy"
		"$venv/bin/python" -m pytest -p no:cacheprovider
	)
}

test_adapters() {
	node_is_there || return 0
	python_packages sdk/python/requirements-adapters.txt || return 0
	(
		cd sdk/python
		export PYTHONPATH="$PWD/src" PYTHONDONTWRITEBYTECODE=1 MYPYPATH="$PWD/src"
		"$venv/bin/mypy" --config-file= --strict --cache-dir "$venv/mypy" -p tenet_sdk.adapters -m tenet_sdk.pytest_plugin
		"$venv/bin/python" -m pytest -p no:cacheprovider -o norecursedirs= --import-mode=importlib tests/adapters
	)
	node_packages sdk/typescript/adapters
	rm -rf "$copy/ts" && mkdir "$copy/ts"
	cp -r sdk/typescript/src sdk/typescript/tsconfig.json sdk/typescript/adapters "$copy/ts/"
	ln -s "$copy/node_modules" "$copy/ts/adapters/node_modules"
	npm --prefix "$copy/ts/adapters" --silent test
}

# node_is_there reports whether Node.js can be had.
node_is_there() {
	command -v npm >/dev/null || scripts/setup-build.sh node npm || {
		skip typescript "Node.js 18 or newer with npm is missing"
		return 1
	}
	[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 18')" = true ] || {
		skip typescript "Node.js 18 or newer is missing"
		return 1
	}
}

# node_packages FOLDER: installs the packages of a lock, and sets copy. False if they cannot be had.
node_packages() {
	copy="$cache/node-$(sha256sum "$1/package-lock.json" | cut -c1-16)"
	[ -e "$copy/complete" ] && return
	rm -rf "$copy" && mkdir -p "$copy"
	cp "$1/package.json" "$1/package-lock.json" "$copy/"
	echo "test-sdk: installing the packages of $1/package-lock.json" >&2
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$copy" >/dev/null || {
		skip typescript "the packages of $1/package-lock.json cannot be installed"
		return 1
	}
	touch "$copy/complete"
}

test_typescript() {
	node_is_there && node_packages sdk/typescript || return 0
	rm -rf "$copy/src" "$copy/test" "$copy/dist"
	cp -r sdk/typescript/src sdk/typescript/test sdk/typescript/tsconfig*.json "$copy/"
	cp sdk/typescript/package.json sdk/typescript/README.md "$copy/"
	TENET_VECTORS="$PWD/sdk/vectors" npm --prefix "$copy" --silent test
	test_package
}

# test_package packs the client for npm, installs it into an empty project with an empty home and without a network, has TypeScript check a program
# there as strictly as it can, and runs that against a server.
test_package() (
	work=$(mktemp -d)
	server=
	trap '[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true; rm -rf "$work"' EXIT
	mkdir "$work/home" "$work/project"
	(cd "$copy" && npm pack --silent --pack-destination "$work" >/dev/null)
	: >"$work/log"
	"$TENET_PROGRAM" serve --listen 127.0.0.1:0 --data "$work/data" --log-format json >/dev/null 2>"$work/log" &
	server=$!
	cd "$work/project"
	echo '{"type": "module", "private": true}' >package.json
	HOME="$work/home" npm install --silent --no-audit --no-fund --offline "$work"/tenet-sdk-*.tgz >/dev/null
	cat >call.ts <<-'TS'
		import { Client, Refused, type Evaluation, type RuleVerdict } from "tenet-sdk";

		const client = new Client();
		const evaluation: Evaluation = await client.evaluate({ files: { "settings.py": 'AWS_KEY = "AKIAIOSFODNN7EXAMPLE"\n' } });
		const broken: RuleVerdict | undefined = evaluation.violations[0];
		const run = new Client({ url: "http://127.0.0.1:1" }).guard({ names: ["amount"] }, async function transfer(amount: number) {
		  return amount;
		});
		const refused: unknown = await run(1).catch((e: unknown) => e);
		console.log(evaluation.overall_verdict, broken?.rule_slug, refused instanceof Refused);
	TS
	echo '{"compilerOptions": {"strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true, "target": "es2022", "module": "nodenext", "lib": ["es2022", "dom", "dom.iterable"], "types": []}}' >tsconfig.json
	"$copy/node_modules/.bin/tsc" -p .
	for _ in $(seq 100); do
		TENET_URL=$(sed -n 's/.*"msg":"serving".*"url":"\([^"]*\)".*/\1/p' "$work/log")
		[ -z "$TENET_URL" ] || break
		sleep 0.1
	done
	export TENET_URL
	printed=$(node call.js)
	[ "$printed" = "DENY SEC-001 true" ] || {
		echo "test-sdk: the packed client prints \"$printed\"" >&2
		exit 1
	}
	echo "test-sdk: the packed client runs in an empty project"
)

for name in "${chosen[@]}"; do
	alone "$name"
	started=$SECONDS
	"test_$name"
	echo "test-sdk: $name took $((SECONDS - started)) s"
done
