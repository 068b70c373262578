#!/usr/bin/env bash
# Runs a command with a private PostgreSQL server, whose address it exports as TENET_TEST_POSTGRES:
#
#   scripts/with-postgres.sh go test ./...
#
# If TENET_TEST_POSTGRES is set already, that server is used. Otherwise PostgreSQL 15 or newer is looked for, and on
# Debian installed if it is missing. The server listens on loopback only, keeps its data in a temporary folder, and ends
# with the command.
set -euo pipefail

if [[ $# -eq 0 ]]; then
	echo "usage: $0 COMMAND [ARGUMENT...]" >&2
	exit 2
fi
if [[ -n "${TENET_TEST_POSTGRES:-}" ]]; then
	exec "$@"
fi

as_root() {
	if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi
}

# usable DIR: DIR holds the programs of PostgreSQL 15 or newer.
usable() {
	[[ -x "$1/initdb" && -x "$1/postgres" ]] || return 1
	local version
	version=$("$1/postgres" --version | grep -oE '[0-9]+' | head -n 1)
	[[ "$version" -ge 15 ]]
}

find_programs() {
	local dir
	for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -Vr) \
		/opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin /usr/pgsql-*/bin; do
		if usable "$dir"; then echo "$dir" && return; fi
	done
	if dir=$(command -v postgres) && dir=$(dirname "$(readlink -f "$dir")") && usable "$dir"; then echo "$dir" && return; fi
	if command -v pg_config >/dev/null && dir=$(pg_config --bindir) && usable "$dir"; then echo "$dir" && return; fi
	return 1
}

install_programs() {
	command -v apt-get >/dev/null || return 1
	echo "Installing PostgreSQL for the tests..." >&2
	# Debian would make and start a cluster of its own, which nothing here needs.
	as_root mkdir -p /etc/postgresql-common/createcluster.d
	echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.d/tenet-tests.conf >/dev/null
	as_root apt-get update -qq >&2
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
}

if ! programs=$(find_programs); then
	if ! install_programs || ! programs=$(find_programs); then
		echo "PostgreSQL 15 or newer is needed: install it, or set TENET_TEST_POSTGRES to a server on which databases may be made." >&2
		exit 1
	fi
fi

# PostgreSQL refuses to run as root.
as_server=()
if [[ $EUID -eq 0 ]]; then
	user=postgres
	id "$user" >/dev/null 2>&1 || user=nobody
	as_server=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups env HOME=/nonexistent)
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/tenet-postgres.XXXXXX")
server=
finish() {
	trap - EXIT INT TERM
	if [[ -n "$server" ]] && kill -0 "$server" 2>/dev/null; then
		kill -INT "$server" 2>/dev/null || true # fast shutdown
		wait "$server" 2>/dev/null || true
	fi
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ ${#as_server[@]} -gt 0 ]]; then chown "$user" "$dir"; fi
cd_dir() { (cd "$dir" && "${as_server[@]}" "$@"); }

cd_dir "$programs/initdb" -D "$dir/data" -U tenet -A trust -E UTF8 --locale=C --no-sync >"$dir/initdb.log" 2>&1 || {
	cat "$dir/initdb.log" >&2
	exit 1
}

# A free port may be taken by another before the server has it, so it is tried a few times.
for _ in 1 2 3 4 5; do
	port=$((20000 + RANDOM % 20000))
	(cd "$dir" && exec "${as_server[@]}" "$programs/postgres" -D "$dir/data" -p "$port" \
		-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c full_page_writes=off \
		-c synchronous_commit=off -c max_connections=300 -c shared_buffers=128MB) >"$dir/server.log" 2>&1 &
	server=$!
	for _ in $(seq 1 100); do
		if "$programs/pg_isready" -q -h 127.0.0.1 -p "$port" -U tenet; then break 2; fi
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	kill -INT "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	server=
done
if [[ -z "$server" ]]; then
	echo "PostgreSQL did not start:" >&2
	cat "$dir/server.log" >&2
	exit 1
fi

export TENET_TEST_POSTGRES="postgres://tenet@127.0.0.1:$port/postgres?sslmode=disable"
status=0
"$@" || status=$?
exit "$status"
