package nodeset

import (
	"context"
	"net/http"
)

// twinNamespace is a second namespace in which the operator may read Secrets.
const twinNamespace = "twin"

// steadyNamespace is the namespace of the Slurm that StartSteadySlurm starts.
const steadyNamespace = "steady"

// inNamespace returns the environment as seen from another namespace.
func (s *Scene) in(namespace string) *Scene {
	other := *s
	other.Site.Namespace = namespace
	return &other
}

// restURL returns the URL of slurmrestd in the namespace.
func (s Site) restURL() string { return "http://e2e-restapi." + s.Namespace + ":6820" }

// clusterManifest contains the values of a Cluster manifest.
type beside struct{ Name, Server string }

// ApplyCluster applies a Cluster of a name that stands for the Slurm of an environment.
func (s *Scene) Beside(ctx context.Context, name string, of *Scene) error {
	return s.apply(ctx, "gate.yaml", beside{name, of.Site.restURL()})
}

// ApplyClusterBehindProxy applies a Cluster of a name that stands for the environment's Slurm
// behind a new proxy.
func (s *Scene) Behind(ctx context.Context, name string) (*Gate, error) {
	gate, err := s.gateBeforeSlurm(ctx)
	if err != nil {
		return nil, err
	}
	return gate, s.apply(ctx, "gate.yaml", beside{name, gate.URL})
}

// proxySlurm starts a proxy in front of slurmrestd.
func (s *Scene) gateBeforeSlurm(ctx context.Context) (*Gate, error) {
	ip, err := s.kubectl(ctx, "get", "pods", "--selector=app=slurmrestd", "--output", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		return nil, err
	}
	return newGate(s.Kube.HostAddress, "http://"+ip+":6820", &http.Transport{})
}

// CreateTwin returns another namespace with a Cluster "e2e" that stands for the environment's own
// Slurm.
func (s *Scene) Twin(ctx context.Context) (*Scene, error) {
	twin := s.in(twinNamespace)
	return twin, twin.apply(ctx, "twin.yaml", s.Site.Namespace)
}

// StartSecondSlurm starts a second Slurm with the same keys in a namespace of its own. name is its
// cluster name. nodes are the nodes of its NodeName line in slurm.conf, for which no slurmd runs.
func (s *Scene) AnotherSlurm(ctx context.Context, name, nodes string) (*Scene, error) {
	if _, err := s.Kube.Kubectl(ctx, "create", "namespace", name); err != nil {
		return nil, err
	}
	other := s.in(name)
	return other, other.startSlurm(ctx, slurmCluster{Name: name, Nodes: nodes})
}

// StartSteadySlurm starts a second Slurm whose SlurmdTimeout is Slurm's default, with the object
// that stands for it. slurmctld pings three times within SlurmdTimeout, and at each twentieth ping
// has the nodes register again, for which slurmd queries each of its steps. With the 30 s of the
// environment's own Slurm that is every 200 s, and a batch step may just be starting: see
// runShortJobs.
func (s *Scene) Steady(ctx context.Context) (*Scene, error) {
	steady := s.in(steadyNamespace)
	if err := steady.startSlurm(ctx, slurmCluster{Name: "steady", SlurmdTimeout: 300}); err != nil {
		return nil, err
	}
	return steady, steady.cluster(ctx)
}
