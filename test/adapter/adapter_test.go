//go:build e2e

package adapter

import (
	"testing"
)

func TestAdapter(t *testing.T) {
	s := newSite(t)
	p := s.run(t)
	s.register(t, p)
	await(t, 30e9, func() error { _, err := s.kube.Kubectl(t.Context(), "get", "--raw", "/apis/custom.metrics.k8s.io/v1beta2"); return err })
	for _, path := range []string{
		"/apis/custom.metrics.k8s.io/v1beta2/namespaces/team-a/nodesets.slinky.slurm.net/gpu/slurm_nodeset_required_nodes",
		"/apis/custom.metrics.k8s.io/v1beta2/namespaces/team-a/metrics/slurm_partition_idle_nodes",
		"/apis/custom.metrics.k8s.io/v1beta2/namespaces/*/metrics/slurm_partition_idle_nodes",
		"/apis/custom.metrics.k8s.io/v1beta1/namespaces/team-a/nodesets.slinky.slurm.net/*/slurm_partition_idle_nodes?metricLabelSelector=partition%3Dall",
		"/apis/custom.metrics.k8s.io/v1beta1/namespaces/empty/nodesets.slinky.slurm.net/*/slurm_partition_idle_nodes",
		"/apis/custom.metrics.k8s.io/v1beta1/namespaces/nope/nodesets.slinky.slurm.net/*/slurm_partition_idle_nodes",
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/team-a/slurm_partition_idle_nodes",
	} {
		out, err := s.kube.Kubectl(t.Context(), "get", "--raw", path)
		t.Log(path, out, err)
	}
	t.Log(p.said(t))
}
