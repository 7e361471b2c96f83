# shellcheck shell=bash
# Further nodes of a cluster, as virtual machines: each has a kernel of its own, with version 2 of cgroups alone, as
# today's distributions have. They hang on the first node, which routes them. Sourced.

# The machines of a cluster have 198.18.SLOT.64/26, and their pods 198.18.SLOT.128/25, of which each has 32 addresses.
machines_network() { echo "198.18.$(slot).64/26"; }
machines_pods() { echo "198.18.$(slot).128/25"; }
machines_router() { echo "198.18.$(slot).65"; }
machine_names() { local i; for ((i = 1; i <= machines; i++)); do echo "machine-$i"; done; }
machine_address() { echo "198.18.$(slot).$((65 + ${1#machine-}))"; }
machine_pods() { echo "198.18.$(slot).$((96 + 32 * ${1#machine-}))/27"; }

# most_machines is how many fit into the networks.
most_machines=4

# need_machines ends the script if virtual machines cannot run here.
need_machines() {
	[[ $(uname -m) == x86_64 ]] || die "--machines needs a processor of type x86_64, this is $(uname -m)"
	[[ -c /dev/net/tun ]] || die "--machines needs /dev/net/tun"
}

# accelerator prints how the emulator runs a machine: by the processor's virtualization, or else ten times slower. A /dev/kvm
# without vmx or svm is paravirtual, and starts no stock kernel.
accelerator() {
	if [[ -w /dev/kvm ]] && grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo; then
		echo "-accel kvm -cpu host"
	else
		echo "-accel tcg,thread=multi -cpu max"
	fi
}

# furnish_for_machines adds what machines need to the root of the first node, $1.
furnish_for_machines() {
	mkdir -p "$1/machine" "$1/node-root"
	mount --bind "$machine_root" "$1/machine"
	mount --bind "$node_root" "$1/node-root"
}

# connect_machines makes the network of the machines on the first node, of process $1, and routes it on the host.
connect_machines() {
	local name network
	nsenter -t "$1" -n -- ip link add machines type bridge
	nsenter -t "$1" -n -- ip addr add "$(machines_router)/26" dev machines
	nsenter -t "$1" -n -- ip link set machines up
	for name in $(machine_names); do
		nsenter -t "$1" -n -- ip tuntap add "$name" mode tap
		nsenter -t "$1" -n -- ip link set "$name" master machines up
		nsenter -t "$1" -n -- ip route add "$(machine_pods "$name")" via "$(machine_address "$name")"
	done
	for network in "$(machines_network)" "$(machines_pods)"; do
		ip route add "$network" via "$(node_address)"
	done
}

# write_machine_config writes the files of machine $1, which sees them as /inst.
write_machine_config() {
	local name=$1 folder=$instance/$1 file
	mkdir -p "$folder"/{etc/net.d,pki,log}
	for file in containerd.toml kubelet.yaml kube-proxy.yaml resolv.conf; do
		sed -e "s|^cgroupRoot: .*|cgroupRoot: /|" -e "s|^hostnameOverride: .*|hostnameOverride: $name|" \
			-e "s|^tlsCertFile: .*|tlsCertFile: /inst/pki/kubelet.crt|" "$instance/etc/$file" >"$folder/etc/$file"
	done
	sed "s|$(node_pods)|$(machine_pods "$name")|" "$instance/etc/net.d/10-pods.conflist" >"$folder/etc/net.d/10-pods.conflist"
	cp "$instance/pki/ca.crt" "$instance/pki/kube-proxy.kubeconfig" "$folder/pki/"
	for file in crt key kubeconfig; do cp "$instance/pki/kubelet-$name.$file" "$folder/pki/kubelet.$file"; done
	cp "$kube_dir/machine-init" "$folder/init"
	cp "$instance/pki/machine_key.pub" "$folder/authorized_keys"
	# shellcheck disable=SC2207
	local kubelet_flags=($(gates))
	cat >"$folder/settings" <<-TEXT
		name=$name
		address=$(machine_address "$name")
		router=$(machines_router)
		gates="${kubelet_flags[*]}"
	TEXT
}

# make_machine_key makes the key with which the scripts enter machines.
make_machine_key() {
	in_machine_root dropbearkey -t ed25519 -f /inst/pki/machine_key >/dev/null 2>&1
	in_machine_root dropbearkey -y -f /inst/pki/machine_key 2>/dev/null | grep ^ssh- >"$instance/pki/machine_key.pub"
}

# in_machine_root runs a program of the machines' root in the first node. Its libraries are of the node's suite.
in_machine_root() {
	local program=$1
	shift
	in_node env LD_LIBRARY_PATH=/machine/usr/lib/x86_64-linux-gnu "/machine/usr/bin/$program" "$@"
}

# in_machine runs a command in machine $1.
in_machine() {
	local name=$1
	shift
	in_machine_root dbclient -y -y -i /inst/pki/machine_key "root@$(machine_address "$name")" "$(printf '%q ' "$@")" 2>>"$instance/log/dbclient.log"
}

# start_machines starts the machines at once and waits until pods can run in each.
start_machines() {
	local name
	make_machine_key
	for name in $(machine_names); do
		write_machine_config "$name"
		daemon start "$name"
	done
	for name in $(machine_names); do
		await "$name" 60 in_machine "$name" ctr version
		for image in "$node_root"/images/*.tar; do
			in_machine "$name" ctr -n k8s.io images import "/node-root/images/${image##*/}" >/dev/null
		done
		in_machine "$name" touch /run/images-ready
		await "the node $name" 60 node_ready "$name"
		say "$name ready"
	done
}

# emulate sets the command of the virtual machine $1. Its memory is the host's only as far as it is used.
emulate() {
	local name=$1 number=${1#machine-} share
	# shellcheck disable=SC2207,SC2046
	home=node command=(env LD_LIBRARY_PATH=/machine/usr/lib/x86_64-linux-gnu /machine/usr/bin/qemu-system-x86_64
		-L /machine/usr/share/qemu -L /machine/usr/share/seabios
		-name "$name" -machine q35 $(accelerator) -smp 2 -m "${machine_memory:-4096}" -nodefaults -no-user-config -no-reboot
		-display none -monitor none -serial stdio
		-kernel /machine/vmlinuz -initrd /machine/initrd -append "console=ttyS0 quiet panic=-1"
		-netdev "tap,id=net0,ifname=$name,script=no,downscript=no"
		-device "virtio-net-pci,netdev=net0,romfile=,mac=52:54:00:00:00:0$number"
		-device virtio-rng-pci)
	for share in node:/node-root machine:/machine kube:/kube roots:/roots; do
		command+=(-virtfs "local,path=${share#*:},mount_tag=${share%%:*},security_model=none,readonly=on,multidevs=remap")
	done
	command+=(-virtfs "local,path=/inst/$name,mount_tag=inst,security_model=none,multidevs=remap")
}

command_of_machine_1() { emulate machine-1; }
command_of_machine_2() { emulate machine-2; }
command_of_machine_3() { emulate machine-3; }
command_of_machine_4() { emulate machine-4; }

# on runs a command in the node of that name, which is the first one or a machine.
on() {
	local name=$1
	shift
	if [[ $name == "$node_name" ]]; then in_node "$@"; else in_machine "$name" "$@"; fi
}
