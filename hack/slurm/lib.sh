# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run.

slurm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$slurm_dir/../.." && pwd)
# shellcheck source=../process.sh
source "$slurm_dir/../process.sh"

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
