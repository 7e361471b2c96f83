# shellcheck shell=bash
# The node of a cluster: a root from Debian's packages in a mount, network and
# host-name namespace of its own, which all end with the cluster. Sourced.

# Every cluster with a node has its own networks from the ranges for tests
# (RFC 2544 and RFC 5180): 198.18.SLOT.0/24 and 2001:2:0:1SLOT::/64 between node and host,
# 198.19.SLOT.0/24 and 2001:2:0:2SLOT::/64 for pods.
slot() { echo $((port_base / 10 % 256)); }
subnet6() { printf '2001:2:0:%s%02x::' "$1" "$(slot)"; }
node_link() { echo "tide$(slot)"; }
node_cgroup() { echo "slurmtide-$(slot)"; }

# by_family prints what the families of the cluster's addresses have of $1 (IPv4) and $2 (IPv6), joined by commas, the
# first family first.
by_family() {
	case $ip_family in
	ipv4) echo "$1" ;;
	ipv6) echo "$2" ;;
	dual) echo "$1,$2" ;;
	esac
}
node_host_addresses() { by_family "198.18.$(slot).1" "$(subnet6 1)1"; }
node_addresses() { by_family "198.18.$(slot).2" "$(subnet6 1)2"; }
node_pods() { by_family "198.19.$(slot).0/24" "$(subnet6 2)/64"; }
service_addresses() { by_family 10.96.0.0/16 fd00:10:96::/112; }
# The addresses of the first family: at which the cluster and this machine reach each other.
node_host_address() { node_host_addresses | cut -d, -f1; }
node_address() { node_addresses | cut -d, -f1; }

# any_address prints the address of a server that listens at every address of the node.
any_address() { [[ $ip_family == ipv4 ]] && echo 0.0.0.0 || echo ::; }

# url_host prints address $1 as URLs have it.
url_host() { [[ $1 != *:* ]] && echo "$1" || echo "[$1]"; }

# hierarchies prints the folders of this machine's cgroup hierarchies.
hierarchies() {
	awk '$3 ~ /^cgroup2?$/ {print $2}' /proc/mounts
}

# make_cgroups creates the cgroup of the node's pods.
make_cgroups() {
	local folder file
	for folder in $(hierarchies); do
		mkdir -p "$folder/$(node_cgroup)"
		for file in cpuset.cpus cpuset.mems; do
			[[ ! -s $folder/$file ]] || cat "$folder/$file" >"$folder/$(node_cgroup)/$file"
		done
	done
}

# sweep_node removes what the kernel leaves after the namespaces have ended: the
# cgroups and, for a moment, the link.
sweep_node() {
	local folder
	ip link del "$(node_link)" 2>/dev/null || true # and with it the routes to machines
	for folder in $(hierarchies); do
		[[ -d $folder/$(node_cgroup) ]] || continue
		find "$folder/$(node_cgroup)" -depth -type d -exec rmdir {} +
	done
}

# connect_node joins the node's network namespace, of process $1, to the host. Without detection of duplicates an address of IPv6
# works at once.
connect_node() {
	local link address pods
	link=$(node_link)
	ip link add "$link" type veth peer name eth0 netns "$1"
	for address in $(node_host_addresses | tr , ' '); do
		ip addr add "$(with_prefix "$address")" dev "$link" $(without_detection "$address")
	done
	ip link set "$link" up
	nsenter -t "$1" -n ip link set lo up
	for address in $(node_addresses | tr , ' '); do
		nsenter -t "$1" -n ip addr add "$(with_prefix "$address")" dev eth0 $(without_detection "$address")
	done
	nsenter -t "$1" -n ip link set eth0 up
	for address in $(node_host_addresses | tr , ' '); do
		nsenter -t "$1" -n ip route add default via "$address"
	done
	for pods in $(node_pods | tr , ' '); do
		case $pods in
		*:*) ip route add "$pods" via "$(subnet6 1)2" ;;
		*) ip route add "$pods" via "198.18.$(slot).2" ;;
		esac
	done
}

with_prefix() { [[ $1 == *:* ]] && echo "$1/64" || echo "$1/24"; }
without_detection() { [[ $1 != *:* ]] || echo nodad; }

# furnish_node turns this process into the node: it mounts a temporary writable layer
# over the root, adds the node's mounts, and leaves the host's mounts.
furnish_node() {
	local layer=$instance/node root=$instance/node/root
	hostname "$node_name"
	mount -t tmpfs -o mode=755 tmpfs "$layer"
	mkdir "$layer"/{upper,work,root}
	mount -t overlay overlay -o "lowerdir=$node_root,upperdir=$layer/upper,workdir=$layer/work" "$root"
	printf '127.0.0.1 localhost\n::1 localhost\n%s %s\n' "$(node_address)" "$node_name" >"$root/etc/hosts"
	# Without names of protocols nft lists "6" where kube-proxy wrote "tcp"; at its full sync of each
	# hour kube-proxy then deletes what it has just written, and no Service answers.
	printf 'tcp 6 TCP\nudp 17 UDP\nsctp 132 SCTP\n' >"$root/etc/protocols"
	mount --bind "$instance" "$root/inst"
	mount --bind "$kube_bin" "$root/kube"
	mkdir "$root/coredns"
	mount --bind "$coredns_bin" "$root/coredns"
	mkdir "$root/roots"
	mount --bind "$image_roots" "$root/roots"
	mount -o remount,bind,ro "$root/roots"
	((machines == 0)) || furnish_for_machines "$root"
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	mkdir -p "$instance"/var/{containerd,kubelet,log} "$root"/var/lib/{containerd,kubelet} "$root/var/log"
	mount --bind "$instance/var/containerd" "$root/var/lib/containerd"
	mount --bind "$instance/var/kubelet" "$root/var/lib/kubelet"
	mount --bind "$instance/var/log" "$root/var/log"
	echo 1 >/proc/sys/net/ipv4/ip_forward
	[[ $ip_family == ipv4 ]] || echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	cd "$root"
	pivot_root . mnt
	# Without the host's files, the script itself is gone.
	exec chroot . /bin/sh -c 'umount -l /mnt && mount --make-rshared / && touch /inst/pid/node.ready && exec sleep infinity'
}

# pod_ranges prints the ranges of pods as the plugin host-local takes them: a pod gets an address of each.
pod_ranges() {
	node_pods | sed 's/[^,]*/[{"subnet": "&"}]/g'
}

# write_node_config writes the configuration of the node's daemons.
write_node_config() {
	mkdir -p "$instance"/{node,etc/net.d}
	# Lowering oom_score_adj requires a capability that root in a container often lacks.
	cat >"$instance/etc/containerd.toml" <<-TOML
		version = 3
		[plugins.'io.containerd.cri.v1.images'.pinned_images]
		  sandbox = "localhost/pause:1"
		[plugins.'io.containerd.cri.v1.runtime']
		  disable_apparmor = true
		  restrict_oom_score_adj = true
		[plugins.'io.containerd.cri.v1.runtime'.cni]
		  bin_dirs = ["/usr/lib/cni"]
		  conf_dir = "/inst/etc/net.d"
		[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		[plugins.'io.containerd.nri.v1.nri']
		  disable = true
	TOML
	cat >"$instance/etc/net.d/10-pods.conflist" <<-JSON
		{"cniVersion": "1.0.0", "name": "pods", "plugins": [
		  {"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
		   "ipam": {"type": "host-local", "dataDir": "/run/pods",
		            "ranges": [$(pod_ranges)], "routes": [$(by_family '{"dst": "0.0.0.0/0"}' '{"dst": "::/0"}')]}}]}
	JSON
	: >"$instance/etc/resolv.conf"
	cat >"$instance/etc/kubelet.yaml" <<-YAML
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: cgroupfs
		cgroupRoot: /$(node_cgroup)
		failCgroupV1: false
		failSwapOn: false
		address: "$(any_address)"
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: /inst/pki/ca.crt}}
		authorization: {mode: Webhook}
		tlsCertFile: /inst/pki/kubelet.crt
		tlsPrivateKeyFile: /inst/pki/kubelet.key
		clusterDomain: cluster.local
		clusterDNS: [$(node_address)]
		resolvConf: /inst/etc/resolv.conf
		imageGCHighThresholdPercent: 100
		evictionHard: {memory.available: 100Mi}
		nodeStatusUpdateFrequency: 2s
		syncFrequency: 5s
	YAML
	cat >"$instance/etc/kube-proxy.yaml" <<-YAML
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: nftables
		clientConnection: {kubeconfig: /inst/pki/kube-proxy.kubeconfig}
		hostnameOverride: $node_name
		bindAddress: "$(any_address)"
		detectLocalMode: BridgeInterface
		detectLocal: {bridgeInterface: pods}
		conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
	YAML
}

command_of_containerd() {
	home=node command=(containerd --config /inst/etc/containerd.toml)
}

command_of_kubelet() {
	# shellcheck disable=SC2207
	home=node command=(/kube/kubelet --config /inst/etc/kubelet.yaml --kubeconfig /inst/pki/kubelet.kubeconfig
		--hostname-override "$node_name" --node-ip "$(node_addresses)" --cert-dir /var/lib/kubelet/pki $(gates))
}

command_of_kube_proxy() {
	home=node command=(/kube/kube-proxy --config /inst/etc/kube-proxy.yaml)
}
