#!/bin/bash
# Starts MariaDB with the contract of the official image mariadb, as far as the chart slurm-stack uses it, so that the
# tests run the chart's defaults:
#
#   docker-entrypoint.sh [mariadbd] [OPTION...]
#
# An empty data directory is initialized first, by a server without a network. If that does not end, as when the container is
# killed, the next start deletes the data and begins again. The variables apply only then: MARIADB_DATABASE and MARIADB_USER with
# MARIADB_PASSWORD, and one of MARIADB_ROOT_PASSWORD, MARIADB_RANDOM_ROOT_PASSWORD and MARIADB_ALLOW_EMPTY_ROOT_PASSWORD.
# NAME_FILE names a file with the value of NAME. Other commands run as they are.
set -euo pipefail

data=/var/lib/mysql
socket=/run/mysqld/mysqld.sock
unfinished=$data/.initializing # exists from the beginning of the initialization to its end

say() { echo "$(date --rfc-3339=seconds) [Entrypoint] $*"; }

die() {
	say "$*" >&2
	exit 1
}

# set_variable sets variable $1 to the contents of the file that $1_FILE names, if any, or leaves it; without both it is empty.
set_variable() {
	local file=$1_FILE value=${!1:-}
	if [[ -n ${!file:-} ]]; then
		[[ -z $value ]] || die "$1 and $file exclude each other"
		value=$(<"${!file}")
	fi
	printf -v "$1" %s "$value"
}

set_variables() {
	local name
	for name in MARIADB_{DATABASE,USER,PASSWORD,ROOT_PASSWORD}; do set_variable "$name"; done
	if [[ -n ${MARIADB_RANDOM_ROOT_PASSWORD:-} ]]; then
		MARIADB_ROOT_PASSWORD=$(head -c 24 /dev/urandom | base64)
		say "GENERATED ROOT PASSWORD: $MARIADB_ROOT_PASSWORD"
	fi
	[[ -n $MARIADB_ROOT_PASSWORD || -n ${MARIADB_ALLOW_EMPTY_ROOT_PASSWORD:-} ]] ||
		die "$data is empty: set MARIADB_ROOT_PASSWORD, MARIADB_RANDOM_ROOT_PASSWORD or MARIADB_ALLOW_EMPTY_ROOT_PASSWORD"
}

# text prints $1 as a string of SQL, and name as a name.
text() {
	local value=${1//\\/\\\\}
	echo "'${value//\'/\'\'}'"
}
name() { echo "\`${1//\`/\`\`}\`"; }

# first_sql prints the statements that create what the variables name. In GRANT, _ stands for any character.
first_sql() {
	local user host
	echo "ALTER USER root@localhost IDENTIFIED BY $(text "$MARIADB_ROOT_PASSWORD");"
	host=$(text "${MARIADB_ROOT_HOST:-%}")
	[[ $host == "'localhost'" ]] ||
		echo "CREATE USER root@$host IDENTIFIED BY $(text "$MARIADB_ROOT_PASSWORD"); GRANT ALL ON *.* TO root@$host WITH GRANT OPTION;"
	[[ -z $MARIADB_DATABASE ]] || echo "CREATE DATABASE IF NOT EXISTS $(name "$MARIADB_DATABASE");"
	[[ -n $MARIADB_USER && -n $MARIADB_PASSWORD ]] || return 0
	user="$(text "$MARIADB_USER")@'%'"
	echo "CREATE USER $user IDENTIFIED BY $(text "$MARIADB_PASSWORD");"
	[[ -z $MARIADB_DATABASE ]] || echo "GRANT ALL ON $(name "${MARIADB_DATABASE//_/\\_}").* TO $user;"
}

# await_server waits until the server of process $1 answers at the socket.
await_server() {
	local end=$((SECONDS + 60))
	until mariadb-admin --no-defaults --socket="$socket" --user=root ping >/dev/null 2>&1; do
		kill -0 "$1" 2>/dev/null || die "the server for the initialization has ended"
		((SECONDS < end)) || die "the server for the initialization does not answer"
		sleep 0.2
	done
}

# initialize makes the data directory, for the server's command line in the arguments.
initialize() {
	local server output
	set_variables
	say "initializing $data"
	[[ ! -e $unfinished ]] || find "$data" -mindepth 1 -maxdepth 1 ! -path "$unfinished" ! -name lost+found -exec rm -rf {} +
	: >"$unfinished"
	output=$(mariadb-install-db --datadir="$data" --auth-root-authentication-method=normal --skip-test-db --force "${@:2}" 2>&1) ||
		die "mariadb-install-db fails: $output"
	"$@" --datadir="$data" --socket="$socket" --skip-networking &
	server=$!
	await_server "$server"
	first_sql | mariadb --no-defaults --socket="$socket" --user=root --binary-mode
	kill "$server"
	wait "$server"
	rm "$unfinished"
	say "initialized $data"
}

main() {
	[[ $# -gt 0 && $1 != -* ]] || set -- mariadbd "$@"
	[[ $1 == mariadbd ]] || exec "$@"
	if ((EUID == 0)); then
		chown mysql: "$data" "${socket%/*}"
		exec setpriv --reuid mysql --regid mysql --init-groups "$0" "$@"
	fi
	[[ -d $data/mysql && ! -e $unfinished ]] || initialize "$@"
	exec "$@"
}

main "$@"
