# shellcheck shell=bash
# Functions of the scripts that start, stop and signal the daemons of a running
# cluster. Sourced, never run. The script defines usage, check_name, which fails for
# an unknown daemon, and run_inside, which starts a daemon inside the cluster.

pid_of() {
	check_name "$1"
	recorded_pid "$instance/pid/$1" || die "$1 is not running"
}

start() {
	check_name "$1"
	! recorded_pid "$instance/pid/$1" >/dev/null || die "$1 is running already"
	rm -f "$instance/pid/$1"
	run_inside "$@"
	local i
	for ((i = 0; i < 50; i++)); do
		[[ ! -s $instance/pid/$1 ]] || return 0
		sleep 0.02
	done
	die "$1 did not start, see $instance/log/$1.log"
}

# stop also sends SIGCONT, since a stopped process does not receive SIGTERM. It
# is not an error if the process ends in the meantime.
stop() {
	local pid
	check_name "$1"
	pid=$(recorded_pid "$instance/pid/$1") || return 0
	{ kill -TERM "$pid" && kill -CONT "$pid"; } 2>/dev/null || true
	wait_gone "$instance/pid/$1" 100 && return
	kill -KILL "$pid" 2>/dev/null || true
	wait_gone "$instance/pid/$1" 100 || die "$1 (pid $pid) does not end"
}

# list prints the running daemons. keep, init and node are the processes that hold
# the cluster's namespaces.
list() {
	local file pid
	for file in "$instance"/pid/*; do
		[[ ${file##*/} != @(keep|init|node) ]] || continue
		! pid=$(recorded_pid "$file") || echo "${file##*/} $pid"
	done
}

# send_signal sends signal $1 to daemon $2. On a busy machine it takes a while until
# each thread has seen a stop, and until a killed process is gone: send_signal waits.
send_signal() {
	local pid
	pid=$(pid_of "$2")
	kill -s "$1" "$pid"
	case $1 in
	19 | STOP | SIGSTOP) await "$2 (pid $pid) to stop" 10 is_stopped "$pid" ;;
	9 | KILL | SIGKILL) wait_gone "$instance/pid/$2" 100 || die "$2 (pid $pid) does not end" ;;
	esac
}

# is_stopped succeeds if all threads of process $1 are stopped.
is_stopped() {
	local task stat
	for task in /proc/"$1"/task/*; do
		{ stat=$(<"$task/stat"); } 2>/dev/null || continue
		[[ ${stat##*) } == T* ]] || return 1
	done
}

# control_daemons runs the command line of the script.
control_daemons() {
	local verb name signal
	[[ ${1:-} == --dir && $# -ge 3 ]] || { usage >&2 && exit 2; }
	load_instance "$2"
	verb=$3
	shift 3
	case $verb in
	start) start "$@" ;;
	stop) for name; do stop "$name"; done ;;
	restart) for name; do stop "$name" && start "$name"; done ;;
	pid) for name; do pid_of "$name"; done ;;
	signal)
		signal=$1
		shift
		for name; do send_signal "$signal" "$name"; done
		;;
	list) list ;;
	*) usage >&2 && exit 2 ;;
	esac
}
