# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run.

slurm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$slurm_dir/../.." && pwd)
cache_dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/slurmtide
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

# need_root_on_linux ends the script where real Slurm cannot run.
need_root_on_linux() {
	[[ $(uname -s) == Linux ]] || die "real Slurm runs on Linux only, this is $(uname -s)"
	[[ $EUID -eq 0 ]] || die "needs root (namespaces and chroot), run it as root"
	local tool
	for tool in unshare nsenter flock setsid chroot hostname; do
		command -v "$tool" >/dev/null || die "needs the program $tool"
	done
}

# suite_of names the Debian suite that carries a Slurm version.
suite_of() {
	case $1 in
	24.11) echo trixie ;;
	26.05) echo forky ;;
	*) die "no root for Slurm '$1', known are 24.11 and 26.05" ;;
	esac
}

# start_time prints when process $1 started, in clock ticks since boot, or
# nothing if it is gone or a zombie. With the pid it names a process for good:
# a recycled pid has another start time.
start_time() {
	local stat fields
	{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
	read -ra fields <<<"${stat##*) }"
	[[ ${fields[0]} == Z ]] || echo "${fields[19]}"
}

# record_self writes "pid start-time" of the calling shell to file $1. The pid
# is the one in the pid namespace that /proc belongs to, so a shell inside the
# cluster that still sees the outer /proc records its outer pid.
record_self() {
	local pid
	read -r pid _ </proc/self/stat
	echo "$pid $(start_time "$pid")" >"$1"
}

# recorded_pid prints the pid recorded in file $1 if that process still lives.
recorded_pid() {
	local pid start
	[[ -s $1 ]] || return 1
	read -r pid start <"$1"
	[[ -n $start && $(start_time "$pid") == "$start" ]] || return 1
	echo "$pid"
}

# wait_gone waits up to $2 tenths of a second for the process recorded in $1.
wait_gone() {
	local i
	for ((i = 0; i < $2; i++)); do
		recorded_pid "$1" >/dev/null || return 0
		sleep 0.1
	done
	return 1
}

# default_instance prints the folder of the cluster called $1.
default_instance() {
	echo "$repo_dir/.run/slurm/$1"
}

# load_instance reads what up wrote down about the cluster in folder $1:
# version, name, root, port_base, nodes, accounting, slurmrestd's settings.
load_instance() {
	instance=$(cd "$1" 2>/dev/null && pwd) || die "no cluster in $1, start one with hack/slurm/up"
	[[ -f $instance/settings ]] || die "no cluster in $1, start one with hack/slurm/up"
	# shellcheck source=/dev/null
	source "$instance/settings"
}

# inside_pid prints the outer pid of the cluster's first process.
inside_pid() {
	recorded_pid "$instance/pid/init" || die "the cluster in $instance is not running"
}

# enter runs a command in the cluster's namespaces, outside of the chroot.
enter() {
	local pid
	pid=$(inside_pid) || exit 1
	nsenter -t "$pid" -m -p -u -- "$@"
}
