# shellcheck shell=bash
# The command line of each daemon of the control plane: command_of_NAME sets the
# array command.
# Sourced by inside.

# The data is deleted with the cluster, so etcd does not wait for the disk.
command_of_etcd() {
	local pki=$instance/pki client peer
	client=https://127.0.0.1:$(etcd_port)
	peer=http://127.0.0.1:$(etcd_peer_port)
	command=("$kube_bin/etcd" --data-dir "$instance/etcd" --unsafe-no-fsync --log-level warn
		--listen-client-urls "$client" --advertise-client-urls "$client"
		--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
		--cert-file "$pki/etcd.crt" --key-file "$pki/etcd.key"
		--client-cert-auth --trusted-ca-file "$pki/etcd-ca.crt")
}

# Without a node, Service kubernetes has no endpoint, since endpoints cannot be
# loopback addresses, and the aggregator reaches servers by name. With a node, it
# reaches them by endpoint, since the host has no route to the Services' addresses.
command_of_kube_apiserver() {
	local pki=$instance/pki routing=(--endpoint-reconciler-type=none --enable-aggregator-routing=false)
	[[ $kubelet == off ]] || routing=(--enable-aggregator-routing=true)
	# shellcheck disable=SC2207
	command=("$kube_bin/kube-apiserver"
		--bind-address "$host_address" --advertise-address "$host_address" --secure-port "$(apiserver_port)"
		"${routing[@]}" --service-cluster-ip-range "$(service_addresses)" --allow-privileged
		--authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction
		--etcd-servers "https://127.0.0.1:$(etcd_port)" --etcd-cafile "$pki/etcd-ca.crt"
		--etcd-certfile "$pki/apiserver-etcd-client.crt" --etcd-keyfile "$pki/apiserver-etcd-client.key"
		--client-ca-file "$pki/ca.crt" --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key"
		--kubelet-client-certificate "$pki/apiserver-kubelet-client.crt"
		--kubelet-client-key "$pki/apiserver-kubelet-client.key"
		--kubelet-certificate-authority "$pki/ca.crt" --kubelet-preferred-address-types InternalIP
		--service-account-issuer https://kubernetes.default.svc
		--service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key"
		--requestheader-client-ca-file "$pki/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client
		--requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group
		--requestheader-extra-headers-prefix X-Remote-Extra-
		--proxy-client-cert-file "$pki/front-proxy-client.crt" --proxy-client-key-file "$pki/front-proxy-client.key"
		$(gates) "${apiserver_args[@]}")
}

# client_of prints the flags with a component's identity.
client_of() {
	local kubeconfig=$instance/pki/$1.kubeconfig
	echo "--kubeconfig=$kubeconfig --authentication-kubeconfig=$kubeconfig --authorization-kubeconfig=$kubeconfig"
}

command_of_kube_controller_manager() {
	local pki=$instance/pki
	# shellcheck disable=SC2207
	command=("$kube_bin/kube-controller-manager" $(client_of kube-controller-manager)
		--bind-address 127.0.0.1 --secure-port "$(controller_manager_port)" --leader-elect=false
		--use-service-account-credentials --kube-api-qps=300 --kube-api-burst=600
		--root-ca-file "$pki/ca.crt" --service-account-private-key-file "$pki/sa.key"
		--cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key"
		$(gates) "${controller_manager_args[@]}")
}

command_of_kube_scheduler() {
	# shellcheck disable=SC2207
	command=("$kube_bin/kube-scheduler" $(client_of kube-scheduler)
		--bind-address 127.0.0.1 --secure-port "$(scheduler_port)" --leader-elect=false
		$(gates) "${scheduler_args[@]}")
}
