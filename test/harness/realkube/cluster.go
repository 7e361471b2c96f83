package realkube

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

// Cluster is a running Kubernetes cluster. Its methods are safe for concurrent use, except Close,
// which must be called last. Keys and certificates are in the folder pki of Dir. The daemons are
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and with a node containerd,
// kubelet, kube-proxy, coredns and provisioner.
type Cluster struct {
	instance.Instance
	// HostAddress is the address at which the cluster reaches this machine, and at which the API
	// server listens: 127.0.0.1, or with a node an address that its pods can
	// reach and no other machine.
	HostAddress string
	shared      func() (*sharedClient, error)
}

// Start starts a cluster and returns within seconds, when the API server is ready and the
// controllers run. Each cluster has its own ports and its own folder, so several may run at once.
// The cluster ends at Close, or with this process.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	prepared, err := instance.Prepare("kube")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Instance: prepared}
	c.shared = sync.OnceValues(c.newSharedClient)
	env, err := c.Up(ctx, config.flags()...)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.HostAddress = env["KUBE_HOST_ADDRESS"]; c.HostAddress == "" {
		return nil, errors.Join(fmt.Errorf("hack/kube/up did not say where kubernetes listens: %v", env), c.Close())
	}
	return c, nil
}
