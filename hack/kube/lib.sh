# shellcheck shell=bash
# Functions that the scripts of this folder share. Sourced, never run.

kube_dir=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
repo_dir=$(cd "$kube_dir/../.." && pwd)
# shellcheck source=hack/process.sh
source "$repo_dir/hack/process.sh"
# shellcheck source=hack/kube/node.sh
source "$kube_dir/node.sh"
# shellcheck source=hack/kube/machine.sh
source "$kube_dir/machine.sh"
# shellcheck source=hack/kube/dns.sh
source "$kube_dir/dns.sh"
# shellcheck source=hack/kube/storage.sh
source "$kube_dir/storage.sh"

# Ports of a cluster, from the base of its block.
etcd_port() { echo "$port_base"; }
etcd_peer_port() { echo $((port_base + 1)); }
apiserver_port() { echo $((port_base + 2)); }
controller_manager_port() { echo $((port_base + 3)); }
scheduler_port() { echo $((port_base + 4)); }

# gates prints the flag of the feature gates, if there are any.
gates() {
	((${#feature_gates[@]} == 0)) || (IFS=, && echo "--feature-gates=${feature_gates[*]}")
}

# need_linux ends the script if real Kubernetes cannot run here.
need_linux() {
	[[ $(uname -s) == Linux ]] || die "real Kubernetes runs on Linux only, this is $(uname -s)"
	local tool
	for tool in unshare nsenter flock setsid setpriv; do
		command -v "$tool" >/dev/null || die "needs the program $tool"
	done
}

# need_node ends the script if a node cannot run here.
need_node() {
	local tool
	[[ $EUID -eq 0 ]] || die "a node needs root (mounts, networks and chroot), run it as root"
	for tool in ip pivot_root chroot hostname; do
		command -v "$tool" >/dev/null || die "a node needs the program $tool"
	done
}

# need_go ends the script if Go is missing.
need_go() {
	command -v go >/dev/null || die "needs Go, from https://go.dev/dl/ or the package golang"
}

# default_instance prints the folder of the cluster called $1.
default_instance() {
	echo "$repo_dir/.run/kube/$1"
}

# load_instance reads the settings that up wrote to the cluster's folder $1.
load_instance() {
	instance=$(cd "$1" 2>/dev/null && pwd) || die "no cluster in $1, start one with hack/kube/up"
	[[ -f $instance/settings ]] || die "no cluster in $1, start one with hack/kube/up"
	# shellcheck source=/dev/null
	source "$instance/settings"
}

# with_user_namespace prints the flags of unshare or nsenter ($1) that make an
# unprivileged user root in new namespaces.
with_user_namespace() {
	[[ $EUID -ne 0 ]] || return 0
	case $1 in
	unshare) echo --user --map-root-user ;;
	nsenter) echo --user --preserve-credentials ;;
	esac
}

# enter runs a command in the cluster's pid namespace, which still sees the files
# and the /proc of the host.
enter() {
	local pid
	pid=$(recorded_pid "$instance/pid/init") || die "the cluster in $instance is not running"
	# shellcheck disable=SC2046
	nsenter -t "$pid" $(with_user_namespace nsenter) -p -- "$@"
}

# in_node runs a command in the node.
in_node() {
	local pid
	pid=$(recorded_pid "$instance/pid/node") || die "the node of the cluster in $instance is not running"
	nsenter -t "$pid" -m -n -p -u -- "$@"
}

# mark_used notes that the build in folder $1 is used, so that prune keeps it.
mark_used() { touch "$1.lock"; }

# prune removes what folder $1 has beside $2: the rest of broken builds, and builds that were not made or used in
# the last $3 days (7), since another checkout may have other ones. It keeps builds that a cluster uses (which
# has a shared lock on <build>.lock).
prune() {
	local old
	for old in "$1"/*; do
		[[ -d $old && $old != "$2" ]] || continue
		[[ $old == *.build.* || -z $(find "$old" "$old.lock" -maxdepth 0 -newerct "${3:-7} days ago" 2>/dev/null) ]] || continue
		(
			flock -n -x 8 || exit 0
			say "removing ${old##*/}"
			rm -rf --one-file-system "$old" "$old.lock"
		) 8>"$old.lock"
	done
}
