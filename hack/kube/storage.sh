# shellcheck shell=bash
# The volumes of a cluster with a node: a default StorageClass, whose provisioner makes a folder on
# the node of the pod for each claim. Sourced.

# hold_provisioner sets the path of the provisioner and takes a shared lock on it, on file descriptor 4, as
# hold_binaries does.
hold_provisioner() {
	provisioner_bin=$("$kube_dir/build" provisioner)
	exec 4>"$provisioner_bin.lock"
	flock -s 4
	[[ -d $provisioner_bin ]] || die "the build $provisioner_bin has just been replaced, run up again"
}

# start_storage creates the StorageClass and starts the provisioner.
start_storage() {
	{ provisioner_rights && provisioner_config && storage_class; } | kubectl apply -f - >/dev/null
	daemon start provisioner
}

# storage_class prints the StorageClass. Volumes of type local are given to the group of a pod (fsGroup), as those of
# clouds are.
storage_class() {
	cat <<-'YAML'
		apiVersion: storage.k8s.io/v1
		kind: StorageClass
		metadata:
		  name: local-path
		  annotations:
		    storageclass.kubernetes.io/is-default-class: "true"
		    defaultVolumeType: local
		provisioner: rancher.io/local-path
		volumeBindingMode: WaitForFirstConsumer
		reclaimPolicy: Delete
	YAML
}

# provisioner_config prints what the provisioner reads: the folder of the volumes on every node, and the pod that makes and
# removes one there. The kubelet's folder is on the disk and ends with the cluster.
provisioner_config() {
	cat <<-'YAML'
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: local-path-config, namespace: local-path-storage}
		data:
		  config.json: |
		    {"nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/var/lib/kubelet/volumes"]}]}
		  setup: |
		    mkdir -m 0755 -p "$VOL_DIR"
		  teardown: |
		    rm -rf "$VOL_DIR"
		  helperPod.yaml: |
		    apiVersion: v1
		    kind: Pod
		    metadata: {name: volume}
		    spec:
		      automountServiceAccountToken: false
		      terminationGracePeriodSeconds: 0
		      containers:
		        - {name: volume, image: "localhost/busybox:1", imagePullPolicy: Never}
		---
	YAML
}

# provisioner_rights prints the RBAC rules of the provisioner and the namespace of its pods.
provisioner_rights() {
	cat <<-'YAML'
		apiVersion: v1
		kind: Namespace
		metadata: {name: local-path-storage}
		---
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: local-path-provisioner, namespace: local-path-storage}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: local-path-provisioner, namespace: local-path-storage}
		rules:
		- {apiGroups: [""], resources: [pods], verbs: [get, create, delete]}
		- {apiGroups: [""], resources: [configmaps], verbs: [get]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: RoleBinding
		metadata: {name: local-path-provisioner, namespace: local-path-storage}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: local-path-provisioner}
		subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:local-path-provisioner"}]
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRole
		metadata: {name: "system:local-path-provisioner"}
		rules:
		- {apiGroups: [""], resources: [nodes, persistentvolumeclaims], verbs: [get, list, watch]}
		- {apiGroups: [""], resources: [persistentvolumes], verbs: [get, list, watch, create, patch, update, delete]}
		- {apiGroups: [storage.k8s.io], resources: [storageclasses], verbs: [get, list, watch]}
		- {apiGroups: [""], resources: [events], verbs: [create, patch]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRoleBinding
		metadata: {name: "system:local-path-provisioner"}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:local-path-provisioner"}
		subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:local-path-provisioner"}]
		---
	YAML
}

# The provisioner needs nothing of the node: pods do its work there.
command_of_provisioner() {
	command=("$provisioner_bin/local-path-provisioner" start --kubeconfig "$instance/pki/local-path-provisioner.kubeconfig"
		--namespace local-path-storage --service-account-name local-path-provisioner --helper-image localhost/busybox:1)
}
