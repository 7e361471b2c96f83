//go:build e2e

package nodeset_test

import (
	"flag"
	"os"
	"testing"

	"github.com/slurmtide/slurmtide/test/nodeset"
)

// TestMain runs more scenarios in parallel than there are processors, because they wait most of
// the time.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// release is a release of Slurm and the object that represents it.
type release struct {
	version    string
	controller bool
}

// releases are the releases that the scenarios run on.
var releases = []release{{"26.05", false}, {"24.11", true}}

// scenario runs in a Kubernetes and a Slurm cluster that other scenarios may share.
type scene = func(*testing.T, *nodeset.Scene)

// TestRealWorkers runs the scenarios on each release, each in its own Kubernetes and Slurm cluster.
// Wherever a policy does not give jobs up, each job must end with exit code 0 on its first
// run.
func TestRealWorkers(t *testing.T) {
	for _, of := range releases {
		t.Run(of.version, func(t *testing.T) {
			s := start(t, of)
			t.Run("from zero and back", func(t *testing.T) { fromZeroAndBack(t, s) })
			t.Run("beside each other", func(t *testing.T) { besideEachOther(t, s) })
			// These have the one Kubernetes node cordoned, or a worker for each.
			t.Run("cordoned Kubernetes node", func(t *testing.T) { cordon(t, s) })
			t.Run("cordonKubeNodes", func(t *testing.T) { cordonKubeNodes(t, s) })
			t.Run("DaemonSet mode", func(t *testing.T) { perKubeNode(t, s) })
		})
	}
}

// runScenarios removes workers in every possible way while they have jobs, and runs each policy and
// strategy that a NodeSet may request.
func besideEachOther(t *testing.T, s *nodeset.Scene) {
	for name, play := range map[string]scene{
		"scale-in": scaleIn, "update": update, "deletion": deletion,
		"drain policy Timeout": timeout, "drain policy Force": force, "deletion with Force": forced,
		"OnDelete": onDelete, "partition": partition, "paused": paused, "ScheduledUpdate": scheduled,
		"claims": claims, "its Cluster is gone": orphan, "held by an administrator": held, "short jobs": shortJobs,
		"another Slurm answers": anotherSlurm, "two NodeSets of one name": sameName, "no slurmd responds": silent,
		"a reading lacks a node": lacking,
		"two HPAs":               twoAutoscalers,
		"foreground deletion":    foreground, "Argo CD's prune": prune, "orphaning": orphaned,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, s)
		})
	}
}
