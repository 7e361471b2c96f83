//go:build e2e

package adapter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

const (
	nodeSets  = "nodesets.slinky.slurm.net"
	clusters  = "clusters.slinky.slurm.net"
	customAPI = "/apis/custom.metrics.k8s.io/v1beta2"
)

func TestAdapter(t *testing.T) {
	s := newEnv(t)
	submitJob(t, s.alpha, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Partition: "gpu", Array: "1-5",
		Exclusive: true}, Forever: true})
	submitJob(t, s.alpha, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Partition: "cpu", Nodes: 1, Exclusive: true},
		Forever: true})
	submitJob(t, s.alpha, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Partition: "cpu", Hold: true}})
	s.alpha.Step(time.Minute)
	p := s.startAdapter(t)
	s.registerAdapter(t, p)
	process.Await(t, func() error { _, err := s.kube.Kubectl(t.Context(), "get", "--raw", customAPI); return err })
	required := query{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
	process.Await(t, func() error {
		_, err := s.kube.Kubectl(t.Context(), "get", "--raw", required.path("v1beta1"))
		return err
	})

	t.Run("every metric is served in both versions", s.testCatalogueMetrics)
	t.Run("values match the queue", s.testMetricValues)
	t.Run("clusters do not mix", s.testClustersAreSeparate)
	t.Run("missing metrics and objects are not found", s.testNotFound)
	t.Run("external metrics", s.testExternalMetrics)
	t.Run("the commands of the page", s.testPage)
	t.Run("discovery and OpenAPI", s.testDiscovery)
	t.Run("unauthorised requests are refused", func(t *testing.T) { s.testAuthorization(t, p) })
	t.Run("metrics for Prometheus", func(t *testing.T) { s.testPrometheusMetrics(t, p) })
	t.Run("a Cluster that is deleted and created again", s.testClusterRecreated)
	t.Run("outages", s.testOutages)
	t.Run("an expired token", s.testTokenRenewal)
	t.Run("replicas share a certificate", func(t *testing.T) { s.testSharedCertificate(t, p) })
	t.Run("one cluster configured by flags", s.testSingleCluster)
	t.Run("every metric of a Controller is served", s.testControllerMetrics)
	t.Run("definitions of another operator, without Clusters", s.testWithoutClusters)
	log := p.Log()
	for _, token := range append(s.tokens, restd.Key) {
		if strings.Contains(log, token) {
			t.Error("a secret is in the log")
		}
	}
}

func submitJob(t *testing.T, c *slurmtest.Cluster, job slurmtest.JobSpec) {
	t.Helper()
	if _, err := c.Submit(job); err != nil {
		t.Fatal(err)
	}
}

// testCatalogueMetrics requests each metric of the catalogue by name, by selector and for all
// objects, in both versions.
func (s *env) testCatalogueMetrics(t *testing.T) {
	objects := map[string]query{
		"nodesets":   {namespace: "team-a", resource: nodeSets, name: "gpu", labels: "kind=fast"},
		"clusters":   {namespace: "team-a", resource: clusters, name: "alpha", labels: "site=north"},
		"namespaces": {resource: "namespaces", name: "team-a", labels: "tier=gold"},
	}
	for _, e := range metricsapi.Catalogue() {
		for _, on := range e.Resources {
			q, ok := objects[on.Resource]
			if !ok {
				continue // Controllers: see testControllerMetrics
			}
			q.metric = e.Name
			for _, version := range versions {
				s.requireSameAnswers(t, version, e, q)
			}
		}
	}
}

// requireSameAnswers checks that all three kinds of request return the same value. Ages change with
// each snapshot, so it retries when a new snapshot may have been published.
func (s *env) requireSameAnswers(t *testing.T, version string, e metricsapi.Entry, q query) {
	t.Helper()
	var err error
	for range 5 {
		if err = s.compareAnswers(t, version, e, q); err == nil {
			return
		}
	}
	t.Error(err)
}

func (s *env) compareAnswers(t *testing.T, version string, e metricsapi.Entry, q query) error {
	t.Helper()
	named := q
	named.labels = ""
	byName, err := s.valuesByName(t, version, named)
	if err != nil || len(byName) != 1 || byName[q.name] == "" {
		return fmt.Errorf("%s by name: %v, %v", e.Name, byName, fmt.Sprint(err))
	}
	selected := q
	selected.name = "*"
	bySelector, err := s.valuesByName(t, version, selected)
	if diff := cmp.Diff(byName, bySelector); err != nil || diff != "" {
		return fmt.Errorf("%s by selector: %v\n%s", e.Name, fmt.Sprint(err), diff)
	}
	selected.labels = ""
	all, err := s.valuesByName(t, version, selected)
	if err != nil || all[q.name] != byName[q.name] {
		return fmt.Errorf("%s of all objects: %v, %v", e.Name, all, fmt.Sprint(err))
	}
	if !e.OfPartitions() {
		return nil
	}
	named.metricLabels = "partition=gpu"
	if one, err := s.valuesByName(t, version, named); err != nil || len(one) != 1 {
		return fmt.Errorf("%s of one partition: %v, %v", e.Name, one, fmt.Sprint(err))
	}
	return nil
}

func (s *env) testMetricValues(t *testing.T) {
	gpu := query{namespace: "team-a", resource: nodeSets, name: "gpu"}
	cpu := query{namespace: "team-a", resource: nodeSets, name: "cpu"}
	alpha := query{namespace: "team-a", resource: clusters, name: "alpha"}
	team := query{resource: "namespaces", name: "team-a"}
	for _, tc := range []struct {
		q                    query
		metric, metricLabels string
		want                 string
	}{
		{gpu, "slurm_nodeset_required_nodes", "", "5"},
		{gpu, "slurm_nodeset_pending_nodes", "", "3"},
		{gpu, "slurm_nodeset_busy_nodes", "", "2"},
		{gpu, "slurm_nodeset_idle_nodes", "", "0"},
		{cpu, "slurm_nodeset_required_nodes", "", "1"},
		{cpu, "slurm_nodeset_busy_nodes", "", "1"},
		{alpha, "slurm_partition_pending_jobs", "", "4"},
		{alpha, "slurm_partition_eligible_pending_jobs", "", "3"},
		{alpha, "slurm_partition_pending_jobs", "partition=gpu", "3"},
		{alpha, "slurm_partition_pending_jobs", "partition in (cpu,all)", "1"},
		{alpha, "slurm_partition_idle_nodes", "", "1"},
		{alpha, "slurm_partition_running_jobs", "", "3"},
		{team, "slurm_partition_busy_nodes", "", "3"},
		{team, "slurm_partition_idle_nodes", "partition=all", "1"},
	} {
		q := tc.q
		q.metric, q.metricLabels = tc.metric, tc.metricLabels
		if err := s.checkValue(t, q, tc.want); err != nil {
			t.Error(err)
		}
	}
}

func (s *env) testClustersAreSeparate(t *testing.T) {
	for _, tc := range []struct {
		q    query
		want string
	}{
		{query{namespace: "team-b", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}, "0"},
		{query{namespace: "team-b", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_idle_nodes"}, "2"},
		{query{namespace: "team-b", resource: clusters, name: "beta", metric: "slurm_partition_pending_jobs"}, "0"},
		{query{resource: "namespaces", name: "team-b", metric: "slurm_partition_busy_nodes"}, "0"},
	} {
		if err := s.checkValue(t, tc.q, tc.want); err != nil {
			t.Error(err)
		}
	}
}

func (s *env) testNotFound(t *testing.T) {
	for _, q := range []query{
		{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nothing"},
		{namespace: "team-a", resource: nodeSets, name: "tpu", metric: "slurm_nodeset_required_nodes"},
		{namespace: "nowhere", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"},
		{namespace: "team-b", resource: nodeSets, name: "cpu", metric: "slurm_nodeset_required_nodes"},
		{namespace: "team-a", resource: nodeSets, name: "*", labels: "kind=odd",
			metric: "slurm_nodeset_required_nodes"},
		{namespace: "team-a", resource: clusters, name: "alpha", metric: "slurm_nodeset_required_nodes"},
		{namespace: "team-a", resource: clusters, name: "alpha", metric: "slurm_partition_idle_nodes",
			metricLabels: "partition=tpu"},
		{namespace: "team-a", resource: "pods", name: "x", metric: "slurm_partition_idle_nodes"},
		{resource: "namespaces", name: "empty", metric: "slurm_partition_idle_nodes"},
	} {
		for _, version := range versions {
			if got, err := s.valuesByName(t, version, q); err == nil || !strings.Contains(err.Error(), "(NotFound)") {
				t.Errorf("%s returned %v, %v", q.path(version), got, err)
			}
		}
	}
	lost := query{namespace: "empty", resource: nodeSets, name: "lost", metric: "slurm_nodeset_required_nodes"}
	if err := s.checkFailure(t, lost, "(ServiceUnavailable)", "empty/nobody", "no Cluster of this name"); err != nil {
		t.Error(err)
	}
}

func (s *env) testExternalMetrics(t *testing.T) {
	got, err := s.getMetrics(t,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/team-a/slurm_partition_idle_nodes?labelSelector=cluster%3Dalpha")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, v := range got {
		values[v.MetricLabels["partition"]] = v.Value
	}
	if diff := cmp.Diff(map[string]string{"gpu": "0", "cpu": "1", "all": "1"}, values); diff != "" {
		t.Error(diff)
	}
}

func (s *env) testDiscovery(t *testing.T) {
	for _, version := range versions {
		out := mustRun(t)(s.kube.Kubectl(t.Context(), "get", "--raw", "/apis/custom.metrics.k8s.io/"+version))
		for _, e := range metricsapi.Catalogue() {
			for _, on := range e.Resources {
				if name := fmt.Sprintf("%q", on.GroupResource.String()+"/"+e.Name); !strings.Contains(out, name) {
					t.Errorf("%s is missing in %s", name, version)
				}
			}
		}
		// kube-apiserver fetches the documents of aggregated servers in the background.
		process.Await(t, func() error {
			document, err := s.kube.Kubectl(t.Context(), "get", "--raw", "/openapi/v3/apis/custom.metrics.k8s.io/"+
				version)
			if err == nil && !strings.Contains(document, "MetricValueList") {
				err = fmt.Errorf("the OpenAPI document of %s is %.200s", version, document)
			}
			return err
		})
	}
}
