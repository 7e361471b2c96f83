# shellcheck shell=bash
# Renders the files in the etc folder of a cluster. Sourced by up, which sets
# cluster_name, version, port_base, nodes, accounting, accounting_of, max_jobs,
# min_job_age and the arrays node, conf, gres and etc_file.

ctld_port() { echo "$port_base"; }
dbd_port() { echo $((${dbd_base:-$port_base} + 1)); }
restd_port() { echo $((port_base + 2)); }
slurmd_port() { echo $((port_base + 10 + $1)); }

# node_lines prints the nodes that the caller describes. Without any it prints
# equal nodes in two racks, so that their features differ.
node_lines() {
	local half=$(((nodes + 1) / 2)) i
	if ((${#node[@]})); then
		for i in "${!node[@]}"; do
			echo "NodeName=${node[i]%% *} NodeHostname=ctl NodeAddr=127.0.0.1 Port=$(slurmd_port $((i + 1))) ${node[i]#* }"
		done
		return
	fi
	node_line 1 "$half" rack1
	((nodes == half)) || node_line $((half + 1)) "$nodes" rack2
}

node_line() {
	echo "NodeName=n[$1-$2] NodeHostname=ctl NodeAddr=127.0.0.1 Port=[$(slurmd_port "$1")-$(slurmd_port "$2")]" \
		"CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000" \
		"Gres=gpu:h100:4 Features=x86,h100,$3"
}

# node_names prints the names of the nodes that have a slurmd.
node_names() {
	local i
	((${#node[@]})) && printf '%s\n' "${node[@]%% *}" && return
	for ((i = 1; i <= nodes; i++)); do echo "n$i"; done
}

# partition_lines prints one partition of all nodes, and two more if the caller
# describes no nodes.
partition_lines() {
	echo "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
	((${#node[@]} == 0)) || return 0
	echo "PartitionName=gpu Nodes=n[1-$nodes] MaxTime=1-0 State=UP"
	echo "PartitionName=debug Nodes=n1 MaxTime=1:00:00 State=UP"
}

gres_lines() {
	if ((${#node[@]} + ${#gres[@]})); then
		((${#gres[@]} == 0)) || printf '%s\n' "${gres[@]}"
		return
	fi
	echo "NodeName=n[1-$nodes] Name=gpu Type=h100 File=/inst/gpu/h100-[0-3]"
}

accounting_lines() {
	[[ $accounting == on ]] || return 0
	cat <<TEXT
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$(dbd_port)
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
TEXT
}

# memory_lines prints the default memory of jobs, unless the caller's lines
# contain DefMemPerCPU, even in a comment.
memory_lines() {
	[[ "${conf[*]}" == *DefMemPerCPU* ]] || echo DefMemPerCPU=100
}

# extra_lines prints the caller's lines. They come last, since the later of two
# settings applies. It replaces @N1_PORT@ by the port of the first slurmd, which
# can answer the pings to any number of nodes that do not exist.
extra_lines() {
	local line
	for line in "${conf[@]}"; do
		echo "${line//@N1_PORT@/$(slurmd_port 1)}"
	done
}

# auth_lines prints how the daemons authenticate each other, and how slurmrestd
# authenticates users.
auth_lines() {
	echo "AuthType=auth/$auth"
	[[ $auth == munge ]] || echo "AuthInfo=use_client_ids"
	echo "AuthAltTypes=auth/jwt"
	echo "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key"
}

slurm_conf() {
	cat <<TEXT
ClusterName=$cluster_name
SlurmctldHost=ctl(127.0.0.1)
SlurmctldPort=$(ctld_port)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=slurm
SlurmdUser=root
$(auth_lines)
CredType=$([[ $auth == munge ]] && echo cred/munge || echo auth/slurm)
StateSaveLocation=/inst/spool/slurmctld
SlurmdSpoolDir=/inst/spool/%n
SlurmctldPidFile=/inst/run/slurmctld.pid
SlurmdPidFile=/inst/run/slurmd-%n.pid
LogTimeFormat=iso8601_ms,format_stderr
SlurmctldDebug=info
SlurmdDebug=info
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=1
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
$(memory_lines)
SchedulerParameters=sched_interval=5,sched_min_interval=0,bf_interval=5
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightQOS=1000
MessageTimeout=5
SlurmdTimeout=300
SlurmctldTimeout=120
InactiveLimit=0
KillWait=2
MinJobAge=$min_job_age
MaxJobCount=$max_jobs
MaxArraySize=100001
MaxNodeCount=$((nodes + 64))
TreeWidth=65533
GresTypes=gpu
Licenses=matlab:20,ansys:5
$(accounting_lines)
$(node_lines)
$(partition_lines)
$(extra_lines)
TEXT
}

slurmdbd_conf() {
	cat <<TEXT
$(auth_lines)
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$(dbd_port)
CommunicationParameters=NoInAddrAny
SlurmUser=slurm
PidFile=/inst/run/slurmdbd.pid
LogTimeFormat=iso8601_ms,format_stderr
DebugLevel=info
DebugLevelSyslog=quiet
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct
TEXT
}

# render_keys creates keys, or copies those of the cluster that runs slurmdbd:
# daemons of two clusters share the keys to talk to each other.
render_keys() {
	[[ $auth == slurm ]] || (umask 077 && head -c 1024 /dev/urandom >"$instance/munge/munge.key")
	if [[ $accounting_of ]]; then
		cp "$accounting_of"/etc/{slurm.key,jwt_hs256.key} "$1"
		return
	fi
	head -c 1024 /dev/urandom >"$1/slurm.key"
	head -c 32 /dev/urandom >"$1/jwt_hs256.key"
}

# render_etc renders all files into folder $1.
render_etc() {
	local file
	slurm_conf >"$1/slurm.conf"
	gres_lines >"$1/gres.conf"
	echo CgroupPlugin=disabled >"$1/cgroup.conf"
	for file in "${etc_file[@]}"; do printf '%s\n' "${file#*=}" >"$1/${file%%=*}"; done
	[[ $accounting == off || $accounting_of ]] || slurmdbd_conf >"$1/slurmdbd.conf"
	render_keys "$1"
	chmod 600 "$1"/*.key "$1"/slurmdbd.conf 2>/dev/null || true
}
