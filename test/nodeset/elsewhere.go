package nodeset

import (
	"context"
	"net/http"
)

// twinNamespace is a namespace in which the operator may read Secrets too.
const twinNamespace = "twin"

// steadyNamespace is where the Slurm of Steady runs.
const steadyNamespace = "steady"

// in is the scene as it is seen in another namespace.
func (s *Scene) in(namespace string) *Scene {
	other := *s
	other.Site.Namespace = namespace
	return &other
}

// restURL is where a Slurm in the namespace answers.
func (s Site) restURL() string { return "http://e2e-restapi." + s.Namespace + ":6820" }

// beside is what a Cluster of the scene is made from.
type beside struct{ Name, Server string }

// Beside makes a Cluster of a name that stands for the Slurm of a scene, or has it stand
// for that.
func (s *Scene) Beside(ctx context.Context, name string, of *Scene) error {
	return s.apply(ctx, "gate.yaml", beside{name, of.Site.restURL()})
}

// Behind makes a Cluster of a name that stands for the scene's Slurm behind a gate.
func (s *Scene) Behind(ctx context.Context, name string) (*Gate, error) {
	gate, err := s.gateBeforeSlurm(ctx)
	if err != nil {
		return nil, err
	}
	return gate, s.apply(ctx, "gate.yaml", beside{name, gate.URL})
}

// gateBeforeSlurm makes a gate before slurmrestd.
func (s *Scene) gateBeforeSlurm(ctx context.Context) (*Gate, error) {
	ip, err := s.kubectl(ctx, "get", "pods", "--selector=app=slurmrestd", "--output", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		return nil, err
	}
	return newGate(s.Kube.HostAddress, "http://"+ip+":6820", &http.Transport{})
}

// Twin is another namespace, with a Cluster "e2e" that stands for the scene's Slurm. Slurm
// runs in the scene's own.
func (s *Scene) Twin(ctx context.Context) (*Scene, error) {
	twin := s.in(twinNamespace)
	return twin, twin.apply(ctx, "twin.yaml", s.Site.Namespace)
}

// AnotherSlurm starts a second Slurm with the same keys, in a namespace of its own: of that
// cluster name, and with nodes, as NodeName in slurm.conf has them, that nothing answers for.
func (s *Scene) AnotherSlurm(ctx context.Context, name, nodes string) (*Scene, error) {
	if _, err := s.Kube.Kubectl(ctx, "create", "namespace", name); err != nil {
		return nil, err
	}
	other := s.in(name)
	return other, other.startSlurm(ctx, slurmCluster{Name: name, Nodes: nodes})
}

// Steady starts a second Slurm whose SlurmdTimeout is Slurm's default, with the object by which it
// is known. At each twentieth ping, three of which it sends within that time, slurmctld has the
// nodes register again, for which slurmd asks each of its steps. With the 30 s of the scene's own
// Slurm that is every 200 s, and a batch step may just be starting: see runShortJobs.
func (s *Scene) Steady(ctx context.Context) (*Scene, error) {
	steady := s.in(steadyNamespace)
	if err := steady.startSlurm(ctx, slurmCluster{Name: "steady", SlurmdTimeout: 300}); err != nil {
		return nil, err
	}
	return steady, steady.cluster(ctx)
}
