#!/usr/bin/env bash
# Builds Citus from its source, which Debian has no package of, and runs a command with a small cluster of it:
#
#   scripts/citus.sh build [FOLDER]     # clone, check, compile and install; asks sudo for the last step where it must
#   scripts/citus.sh run COMMAND ...    # a coordinator and two workers; their address is in TENET_TEST_POSTGRES and DATABASE_URL
#
# FOLDER keeps the clone (default: $XDG_CACHE_HOME/tenet-citus); a clone that is there already is used. PG_CONFIG names the pg_config of the PostgreSQL that gets it; its
# server headers must be there (Debian: postgresql-server-dev-15, libcurl4-openssl-dev, libkrb5-dev, liblz4-dev, libzstd-dev, libxslt1-dev, libpam0g-dev, libselinux1-dev, libicu-dev).
set -euo pipefail

tag=v13.2.2
commit=cc91f4c29cc358f66e70eb1ef204a45999933926
source=${CITUS_SOURCE:-https://github.com/citusdata/citus}
pg_config=${PG_CONFIG:-pg_config}

fail() {
	echo "citus: $*" >&2
	exit 1
}

build() {
	local dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/tenet-citus} have
	command -v "$pg_config" >/dev/null || fail "pg_config is missing: install the server headers of PostgreSQL 15, 16 or 17"
	[[ -f "$("$pg_config" --includedir-server)/postgres.h" ]] || fail "the server headers of $("$pg_config" --version) are missing"
	[[ -d "$dir/.git" ]] || git clone -q --depth 1 --branch "$tag" "$source" "$dir"
	have=$(git -C "$dir" rev-parse HEAD)
	[[ "$have" == "$commit" ]] || fail "$dir is at $have; $tag is $commit. Remove the folder, and look who has changed what"
	(cd "$dir" && ./configure -q PG_CONFIG="$pg_config" && make -s -j"$(getconf _NPROCESSORS_ONLN)" extension)
	if [[ -w "$("$pg_config" --pkglibdir)" ]]; then
		make -s -C "$dir" install-extension
	else
		sudo make -s -C "$dir" install-extension
	fi
}

run() {
	[[ $# -gt 0 ]] || fail "run needs a command"
	local bin base name port
	bin=$("$pg_config" --bindir)
	[[ -f "$("$pg_config" --pkglibdir)/citus.so" ]] || fail "Citus is not installed: scripts/citus.sh build"
	local as=()
	if [[ $EUID -eq 0 ]]; then as=(setpriv --reuid=postgres "--regid=$(id -g postgres)" --clear-groups); fi # PostgreSQL refuses to run as root
	base=$(mktemp -d /tmp/tenet-citus.XXXXXX)
	if [[ $EUID -eq 0 ]]; then chown postgres "$base"; fi
	serve() { (cd "$base" && exec ${as[@]+"${as[@]}"} env HOME="$base" LC_ALL=C "$@"); }
	# shellcheck disable=SC2064 # the folder of now
	trap "for name in coordinator worker-1 worker-2; do (cd $base && ${as[*]} $bin/pg_ctl -D $base/\$name -m immediate -s stop) || true; done; rm -rf $base" EXIT
	port=${CITUS_PORT:-15432}
	for name in coordinator worker-1 worker-2; do
		serve "$bin/initdb" -D "$base/$name" -U tenet -A trust -E UTF8 --locale=C --no-sync >"$base/log" 2>&1 || { cat "$base/log" >&2; exit 1; }
		serve "$bin/pg_ctl" -D "$base/$name" -w -s -l "$base/$name.log" start -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$base \
			-c shared_preload_libraries=citus -c max_connections=300 -c max_prepared_transactions=300 -c wal_level=logical -c fsync=off" ||
			{ cat "$base/$name.log" >&2; exit 1; }
		serve "$bin/psql" -q -h "$base" -p "$port" -U tenet postgres -c "CREATE DATABASE tenet"
		serve "$bin/psql" -q -h "$base" -p "$port" -U tenet tenet -c "CREATE EXTENSION citus"
		port=$((port + 1))
	done
	port=${CITUS_PORT:-15432}
	serve "$bin/psql" -q -h "$base" -p "$port" -U tenet tenet -o /dev/null -c "SELECT citus_set_coordinator_host('127.0.0.1', $port)" \
		-c "SELECT citus_add_node('127.0.0.1', $((port + 1)))" -c "SELECT citus_add_node('127.0.0.1', $((port + 2)))"
	export DATABASE_URL="postgres://tenet@127.0.0.1:$port/tenet" TENET_TEST_POSTGRES="postgres://tenet@127.0.0.1:$port/tenet"
	"$@"
}

case ${1:-} in
build | run)
	what=$1
	shift
	"$what" "$@"
	;;
*)
	sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
