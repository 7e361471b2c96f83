# shellcheck shell=bash
# Functions of the scripts in this folder. Sourced, never run.

host_dir=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
# shellcheck source=../process.sh
source "$host_dir/../process.sh"
# shellcheck source=../debian.sh
source "$host_dir/../debian.sh"

# need_root_on_linux ends the script if a host cannot run here.
need_root_on_linux() {
	[[ $(uname -s) == Linux ]] || die "systemd runs on Linux only, this is $(uname -s)"
	[[ $EUID -eq 0 ]] || die "run it as root: it needs namespaces and chroot"
	cgroup_tree >/dev/null
}

# suite_of prints the Debian suite that contains a Slurm version.
suite_of() {
	case $1 in
	24.11) echo trixie ;;
	26.05) echo forky ;;
	*) die "no host with Slurm '$1', known are 24.11 and 26.05" ;;
	esac
}

# cgroup_tree prints where version 2 of cgroups is mounted.
cgroup_tree() {
	local tree
	tree=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[[ $tree ]] || die "it needs version 2 of cgroups"
	echo "$tree"
}

# cgroup_of prints the cgroup of the host in folder $1.
cgroup_of() { echo "$(cgroup_tree)/slurmtide-host-$(sha256sum <<<"$1" | cut -c1-8)"; }
