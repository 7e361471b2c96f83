# shellcheck shell=bash
# The DNS of a cluster with a node: it answers pods for Services and for pods with
# a host name behind a headless one, and knows no other name. Sourced.

# write_dns_config writes the configuration of CoreDNS. CoreDNS answers unknown names too,
# since a program without an answer keeps retrying.
write_dns_config() {
	cat >"$instance/etc/Corefile" <<-TEXT
		cluster.local in-addr.arpa ip6.arpa {
		  bind $(node_address)
		  errors
		  kubernetes {
		    kubeconfig /inst/pki/coredns.kubeconfig
		    ttl 1
		  }
		}
		. {
		  bind $(node_address)
		  errors
		  template ANY ANY {
		    rcode NXDOMAIN
		  }
		}
	TEXT
}

# dns_rights prints the RBAC rules of CoreDNS.
dns_rights() {
	cat <<-YAML
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRole
		metadata: {name: "system:coredns"}
		rules:
		- {apiGroups: [""], resources: [services, namespaces], verbs: [list, watch]}
		- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRoleBinding
		metadata: {name: "system:coredns"}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:coredns"}
		subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:coredns"}]
	YAML
}

command_of_coredns() {
	home=node command=(/coredns/coredns -conf /inst/etc/Corefile)
}
