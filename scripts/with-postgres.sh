#!/usr/bin/env bash
# Runs a command with a private PostgreSQL server, whose address it exports as TENET_TEST_POSTGRES:
#
#   scripts/with-postgres.sh go test ./...
#
# If TENET_TEST_POSTGRES is set already, that server is used. Otherwise PostgreSQL 15 or newer is looked for, and on
# Debian installed if it is missing. The server can be reached by its owner only, through a socket; its data lie in a
# temporary folder; it ends with the command. The exit status is that of the command.
set -euo pipefail

{ # read to its end before anything runs, so that this file may be edited in the meantime

if [[ $# -eq 0 ]]; then
	echo "usage: $0 COMMAND [ARGUMENT...]" >&2
	exit 2
fi
if [[ -n "${TENET_TEST_POSTGRES:-}" ]]; then
	exec "$@"
fi

# usable DIR: DIR holds the programs of PostgreSQL 15 or newer.
usable() {
	[[ -x "$1/initdb" && -x "$1/postgres" ]] || return 1
	local version
	version=$("$1/postgres" --version | grep -oE '[0-9]+' | head -n 1)
	[[ "$version" -ge 15 ]]
}

# find_programs prints the folder of PostgreSQL's programs, the newest version first where several have known places.
find_programs() {
	local dir
	if dir=$(command -v postgres) && dir=$(dirname "$(readlink -f "$dir")") && usable "$dir"; then echo "$dir" && return; fi
	while read -r dir; do
		if usable "$dir"; then echo "$dir" && return; fi
	done < <(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin \
		/usr/local/opt/postgresql@*/bin /home/linuxbrew/.linuxbrew/opt/postgresql@*/bin \
		/Applications/Postgres.app/Contents/Versions/*/bin | sort -Vr)
	if command -v pg_config >/dev/null && dir=$(pg_config --bindir) && usable "$dir"; then echo "$dir" && return; fi
	return 1
}

as_root() {
	if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi
}

# install_programs installs PostgreSQL where that can be done without a question.
install_programs() {
	command -v apt-get >/dev/null || return 1
	[[ $EUID -eq 0 ]] || command -v sudo >/dev/null || return 1
	echo "with-postgres: installing PostgreSQL" >&2
	# Debian would make and start a cluster of its own, which nothing here needs.
	as_root mkdir -p /etc/postgresql-common/createcluster.d
	echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.d/tenet-tests.conf >/dev/null
	local install=(as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql)
	"${install[@]}" </dev/null >/dev/null 2>&1 || {
		as_root apt-get update -qq </dev/null >&2
		"${install[@]}" </dev/null >&2
	}
}

if ! programs=$(find_programs); then
	if ! install_programs || ! programs=$(find_programs); then
		echo "with-postgres: PostgreSQL 15 or newer is needed: install it, or set TENET_TEST_POSTGRES to the address of a server on which databases may be made" >&2
		exit 1
	fi
fi

# PostgreSQL refuses to run as root, so another user runs it then.
user=
as_server=()
base=${TMPDIR:-/tmp}
if [[ $EUID -eq 0 ]]; then
	base=/tmp # the folder that TMPDIR names may be closed to other users
	user=postgres
	id "$user" >/dev/null 2>&1 || user=nobody
	if command -v setpriv >/dev/null; then
		as_server=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups)
	elif command -v runuser >/dev/null; then
		as_server=(runuser -u "$user" --)
	else
		# shellcheck disable=SC2016 # the inner shell is to expand this
		as_server=(su -s /bin/sh "$user" -c 'exec "$0" "$@"' --)
	fi
fi

# The address stays the same from run to run, as long as no other run has it, so that Go finds the results of tests again whose code and files
# have not changed: the address is among what they depend on. Where locks cannot be had, or the folder is somebody else's, each run has its own.
dir=
for ((n = 0; n < 8; n++)); do
	lock=$base/tenet-postgres-$EUID-$n.lock
	command -v flock >/dev/null || break
	[[ ! -L "$lock" && (! -e "$lock" || -O "$lock") ]] || continue
	exec {held}>"$lock"
	if flock -n "$held"; then
		dir=$base/tenet-postgres-$EUID-$n
		rm -rf "$dir"
		(umask 077 && mkdir "$dir") 2>/dev/null && break
		dir=
	fi
	exec {held}>&-
done
[[ -n "$dir" ]] || dir=$(mktemp -d "$base/tenet-postgres.XXXXXX")
server=
command=

finish() {
	set +e
	trap - EXIT
	trap '' INT TERM HUP # a second signal must not leave anything behind
	# The command runs in a process group of its own: what it has started ends with it.
	if [[ -n "$command" ]]; then
		kill -TERM -- "-$command" 2>/dev/null
		wait "$command" 2>/dev/null
	fi
	if [[ -n "$server" ]]; then
		local pid
		pid=$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null) || pid=$server
		kill -INT "$pid" 2>/dev/null # a fast shutdown, which does not wait for clients
		wait "$server" 2>/dev/null
	fi
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ -n "$user" ]]; then chown "$user" "$dir"; fi
# serve PROGRAM ...: runs a program of PostgreSQL as the user who may.
serve() { (cd "$dir" && exec ${as_server[@]+"${as_server[@]}"} env HOME="$dir" LC_ALL=C "$@"); }

if ! serve "$programs/initdb" -D "$dir/data" -U tenet -A trust -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1; then
	cat "$dir/log" >&2
	exit 1
fi

# The data need not survive the machine, so nothing is synced. Each test has a database of its own, and several tests run at
# once, hence the connections.
set -m # gives each job below a process group of its own, so that a Ctrl-C ends the command before the server
serve "$programs/postgres" -D "$dir/data" -c listen_addresses= -c "unix_socket_directories=$dir" \
	-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=300 -c shared_buffers=128MB \
	</dev/null >"$dir/log" 2>&1 &
server=$!
ready=
for ((i = 0; i < 300; i++)); do
	if grep -qs '^ready' "$dir/data/postmaster.pid"; then ready=1 && break; fi
	kill -0 "$server" 2>/dev/null || break
	sleep 0.1
done
if [[ -z "$ready" ]]; then
	echo "with-postgres: PostgreSQL did not start:" >&2
	cat "$dir/log" >&2
	exit 1
fi

export TENET_TEST_POSTGRES="postgres://tenet@/postgres?host=$dir"
status=0
"$@" <&0 &
command=$!
wait "$command" || status=$?
command=
exit "$status"
}
