package nodeset

import (
	"context"
	"net/http"

	"github.com/slurmtide/slurmtide/test/harness/faultproxy"
)

// twinNamespace is a second namespace in which the operator may read Secrets.
const twinNamespace = "twin"

// steadyNamespace is the namespace of the Slurm that StartSteadySlurm starts.
const steadyNamespace = "steady"

// inNamespace returns the environment as seen from another namespace.
func (s *Env) inNamespace(namespace string) *Env {
	other := *s
	other.Values.Namespace = namespace
	return &other
}

// restURL returns the URL of slurmrestd in the namespace.
func (s ManifestValues) restURL() string { return "http://e2e-restapi." + s.Namespace + ":6820" }

// clusterManifest contains the values of a Cluster manifest.
type clusterManifest struct{ Name, Server string }

// ApplyCluster applies a Cluster of a name that stands for the Slurm of an environment.
func (s *Env) ApplyCluster(ctx context.Context, name string, of *Env) error {
	return s.apply(ctx, "gate.yaml", clusterManifest{name, of.Values.restURL()})
}

// ApplyClusterBehindProxy applies a Cluster of a name that stands for the environment's Slurm
// behind a new proxy.
func (s *Env) ApplyClusterBehindProxy(ctx context.Context, name string) (*faultproxy.Proxy, error) {
	gate, err := s.proxySlurm(ctx)
	if err != nil {
		return nil, err
	}
	return gate, s.apply(ctx, "gate.yaml", clusterManifest{name, gate.URL})
}

// proxySlurm starts a proxy in front of slurmrestd.
func (s *Env) proxySlurm(ctx context.Context) (*faultproxy.Proxy, error) {
	ip, err := s.kubectl(ctx, "get", "pods", "--selector=app=slurmrestd", "--output",
		"jsonpath={.items[0].status.podIP}")
	if err != nil {
		return nil, err
	}
	return faultproxy.New(s.Kube.HostAddress, "http://"+ip+":6820", &http.Transport{})
}

// CreateTwin returns another namespace with a Cluster "e2e" that stands for the environment's own
// Slurm.
func (s *Env) CreateTwin(ctx context.Context) (*Env, error) {
	twin := s.inNamespace(twinNamespace)
	return twin, twin.apply(ctx, "twin.yaml", s.Values.Namespace)
}

// StartSecondSlurm starts a second Slurm with the same keys in its own namespace. name is its cluster name. nodes are
// the nodes of its NodeName line in slurm.conf; no slurmd runs for them.
func (s *Env) StartSecondSlurm(ctx context.Context, name, nodes string) (*Env, error) {
	if _, err := s.Kube.Kubectl(ctx, "create", "namespace", name); err != nil {
		return nil, err
	}
	other := s.inNamespace(name)
	return other, other.startSlurm(ctx, slurmCluster{Name: name, Nodes: nodes})
}

// StartSteadySlurm starts a second Slurm whose SlurmdTimeout is Slurm's default, and creates its object. slurmctld
// pings three times within SlurmdTimeout, and at each twentieth ping makes the nodes register again. slurmd then
// queries each of its steps. With the 30 s of the environment's own Slurm this happens every 200 s, and a batch step
// may just be starting: see runShortJobs.
func (s *Env) StartSteadySlurm(ctx context.Context) (*Env, error) {
	steady := s.inNamespace(steadyNamespace)
	if err := steady.startSlurm(ctx, slurmCluster{Name: "steady", SlurmdTimeout: 300}); err != nil {
		return nil, err
	}
	return steady, steady.applyClusterObject(ctx)
}
