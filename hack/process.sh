# shellcheck shell=bash
# Functions of the scripts that start daemons. Sourced, never run.

cache_dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/slurmtide
# Folder of the locks on blocks of ports. All caches share it, since ports belong to the machine.
ports_dir=/tmp/slurmtide-ports-$EUID
began=${EPOCHREALTIME//[.,]/}

# say prints one progress line with the seconds since the script began.
say() {
	local ms=$(((${EPOCHREALTIME//[.,]/} - began) / 1000))
	printf '[%3d.%03ds] %s\n' $((ms / 1000)) $((ms % 1000)) "$*" >&2
}

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# start_time prints when process $1 started, in clock ticks since boot, or
# nothing if the process does not exist or is a zombie. The pid and the start
# time identify a process: a reused pid has another start time.
start_time() {
	local stat fields
	{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
	read -ra fields <<<"${stat##*) }"
	[[ ${fields[0]} == Z ]] || echo "${fields[19]}"
}

# record_self writes "pid start-time" of the calling shell to file $1. The pid
# is that of the pid namespace of /proc, so a shell in a new pid namespace that
# still has the outer /proc records its outer pid.
record_self() {
	local pid
	read -r pid _ </proc/self/stat
	echo "$pid $(start_time "$pid")" >"$1"
}

# recorded_pid prints the pid recorded in file $1 if that process still runs.
recorded_pid() {
	local pid start
	[[ -s $1 ]] || return 1
	read -r pid start <"$1"
	[[ -n $start && $(start_time "$pid") == "$start" ]] || return 1
	echo "$pid"
}

# wait_gone waits up to $2 tenths of a second until the process recorded in
# file $1 has ended.
wait_gone() {
	local i
	for ((i = 0; i < $2; i++)); do
		recorded_pid "$1" >/dev/null || return 0
		sleep 0.1
	done
	return 1
}

# await runs a command until it succeeds, for at most $2 seconds. $1 describes it.
await() {
	local what=$1 until=$((SECONDS + $2))
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < until)) || { echo "${0##*/}: waited too long for $what" >&2 && return 1; }
		sleep 0.05
	done
}

port_open() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# listening prints the TCP ports that are in use for listening on this machine.
listening() {
	sed -n 's/^ *[0-9]*: [0-9A-F]*:\([0-9A-F]*\) [0-9A-F:]* 0A .*/\1/p' /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		while read -r hex; do echo $((16#$hex)); done
}

# make_ports_dir creates ports_dir, and fails if another user owns it.
make_ports_dir() {
	mkdir -p -m 700 "$ports_dir"
	[[ -O $ports_dir && ! -L $ports_dir ]] || die "another user owns $ports_dir: remove it"
}
