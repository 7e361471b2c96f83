# shellcheck shell=bash
# Functions of the scripts in this folder. Sourced, never run.

slurm_dir=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
repo_dir=$(cd "$slurm_dir/../.." && pwd)
# shellcheck source=../process.sh
source "$slurm_dir/../process.sh"

# need_root_on_linux ends the script if real Slurm cannot run here.
need_root_on_linux() {
	[[ $(uname -s) == Linux ]] || die "real Slurm runs on Linux only, this is $(uname -s)"
	[[ $EUID -eq 0 ]] || die "run it as root: it needs namespaces and chroot"
	local tool
	for tool in unshare nsenter flock setsid chroot hostname; do
		command -v "$tool" >/dev/null || die "needs the program $tool"
	done
}

# suite_of prints the Debian suite that contains a Slurm version.
suite_of() {
	case $1 in
	24.11) echo trixie ;;
	26.05) echo forky ;;
	*) die "no root for Slurm '$1', known are 24.11 and 26.05" ;;
	esac
}

# default_instance prints the default folder of cluster $1.
default_instance() {
	echo "$repo_dir/.run/slurm/$1"
}

# load_instance loads the settings that up recorded for the cluster in folder $1:
# version, name, root, port_base, nodes, accounting, slurmrestd's settings.
load_instance() {
	instance=$(cd "$1" 2>/dev/null && pwd) || die "no cluster in $1, start one with hack/slurm/up"
	[[ -f $instance/settings ]] || die "no cluster in $1, start one with hack/slurm/up"
	# shellcheck source=/dev/null
	source "$instance/settings"
}

# inside_pid prints the outer pid of the first process of the cluster.
inside_pid() {
	recorded_pid "$instance/pid/init" || die "the cluster in $instance is not running"
}

# enter runs a command in the namespaces of the cluster, outside the chroot.
enter() {
	local pid
	pid=$(inside_pid) || exit 1
	nsenter -t "$pid" -m -p -u -- "$@"
}
