package main

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
)

// controlPlane describes the files to create.
type controlPlane struct {
	dir    string
	server string
	node   string
	ips    []net.IP
	// machines are the nodes beside node.
	machines []machine
}

// machine is a node with the certificate kubelet-NAME.
type machine struct {
	name string
	ip   net.IP
}

// certificateRequest is one certificate to create.
type certificateRequest struct {
	name      string
	authority string
	subject   pkix.Name
	usages    []x509.ExtKeyUsage
	hosts     []string
	ips       []net.IP
}

// authorities returns the names of the authorities. They are separate because each is trusted for
// one purpose: identifying users, asserting users (front proxy), and reading etcd.
func (controlPlane) authorities() []string { return []string{"ca", "front-proxy-ca", "etcd-ca"} }

// users returns the names of the users that get a kubeconfig.
func (p controlPlane) users() []string {
	users := []string{"admin", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "coredns",
		"local-path-provisioner"}
	for _, m := range p.machines {
		users = append(users, "kubelet-"+m.name)
	}
	return users
}

func (p controlPlane) requests() []certificateRequest {
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	name := func(common string, groups ...string) pkix.Name {
		return pkix.Name{CommonName: common, Organization: groups}
	}
	service := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local"}
	// The first address of the service range belongs to the Service kubernetes.
	addresses := append([]net.IP{net.IPv4(10, 96, 0, 1)}, p.ips...)
	requests := []certificateRequest{
		{"apiserver", "ca", name("kube-apiserver"), server, service, addresses},
		{"apiserver-kubelet-client", "ca", name("kube-apiserver-kubelet-client", "system:masters"), client, nil, nil},
		{"admin", "ca", name("admin", "system:masters"), client, nil, nil},
		{"kube-controller-manager", "ca", name("system:kube-controller-manager"), client, nil, nil},
		{"kube-scheduler", "ca", name("system:kube-scheduler"), client, nil, nil},
		{"kube-proxy", "ca", name("system:kube-proxy"), client, nil, nil},
		{"coredns", "ca", name("system:coredns"), client, nil, nil},
		{"local-path-provisioner", "ca", name("system:local-path-provisioner"), client, nil, nil},
		{"kubelet", "ca", name("system:node:"+p.node, "system:nodes"), both, []string{p.node}, p.ips},
		{"front-proxy-client", "front-proxy-ca", name("front-proxy-client"), client, nil, nil},
		{"etcd", "etcd-ca", name("etcd"), both, []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}},
		{"apiserver-etcd-client", "etcd-ca", name("kube-apiserver-etcd-client"), client, nil, nil},
	}
	for _, m := range p.machines {
		requests = append(requests, certificateRequest{
			"kubelet-" + m.name, "ca", name("system:node:"+m.name, "system:nodes"), both, []string{m.name}, []net.IP{m.ip},
		})
	}
	return requests
}
