//go:build e2e

package nodeset_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
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

var whole = flag.Bool("whole", false, "run every scenario on every release, also the long ones, and faults at random")

// releases are the releases that the scenarios run on, the first one every scenario.
var releases = []release{{"26.05", false}, {"24.11", true}}

// longest is the scenario that takes the most time.
const longest = "short jobs"

// scenario runs in Kubernetes and Slurm clusters that other scenarios may share.
type scenario = func(*testing.T, *nodeset.Env)

// TestRealWorkers runs the scenarios on each release, each in its own Kubernetes and Slurm cluster.
// Wherever a policy does not give jobs up, each job must end with exit code 0 on its first
// run.
func TestRealWorkers(t *testing.T) {
	for _, of := range releases {
		t.Run(of.version, func(t *testing.T) {
			s := startEnv(t, of)
			all := *whole || of == releases[0]
			t.Run("from zero and back", func(t *testing.T) { testFromZeroAndBack(t, s) })
			t.Run("beside each other", func(t *testing.T) {
				runScenarios(t, s, scenariosOfEveryRelease())
				if all {
					runScenarios(t, s, scenariosOfNewestRelease())
				}
				if *whole {
					runScenarios(t, s, longScenarios())
				}
			})
			if !all {
				return
			}
			// These scenarios cordon the only Kubernetes node, or run a worker on each node.
			t.Run("cordoned Kubernetes node", func(t *testing.T) { testCordon(t, s) })
			if *whole {
				t.Run("kubelet away", func(t *testing.T) { testKubeletAway(t, s) })
				t.Run("older state", func(t *testing.T) { testOlderState(t, s) })
				t.Run("static node", func(t *testing.T) { testStaticNode(t, s) })
				t.Run("twin Kubernetes nodes", func(t *testing.T) { testTwinKubeNodes(t, s) })
				t.Run("named Kubernetes node", func(t *testing.T) { testNamedKubeNode(t, s) })
				t.Run("faulty workers", func(t *testing.T) { testSlurmFaults(t, s) })
			}
			t.Run("cordonKubeNodes", func(t *testing.T) { testCordonKubeNodes(t, s) })
			t.Run("DaemonSet mode", func(t *testing.T) { testPerKubeNode(t, s) })
			t.Run("things fail", func(t *testing.T) { testFaults(t, s) })
			if *whole {
				t.Run("scaling modes", func(t *testing.T) { testScalingModes(t, s) })
				t.Run("lost Kubernetes node", func(t *testing.T) { testKubeNodeLost(t, s) })
			}
		})
	}
}

// scenariosOfEveryRelease remove workers, while they have jobs, in the ways that depend most on what a release of
// Slurm does.
func scenariosOfEveryRelease() map[string]scenario {
	return map[string]scenario{"scale-in": testScaleIn, "deletion": testDeletion, longest: testShortJobs}
}

// scenariosOfNewestRelease remove workers during other faults, and give jobs up where a policy allows it.
func scenariosOfNewestRelease() map[string]scenario {
	return map[string]scenario{
		"update": testUpdate, "held by an administrator": testHeldByAdmin,
		"drain policy Timeout": testTimeoutPolicy, "drain policy Force": testForcePolicy,
		"no slurmd responds": testNoSlurmdResponds, "another Slurm answers": testOtherSlurmAnswers,
		"a reading lacks a node": testReadingLacksNode, "its Cluster is gone": testMissingCluster,
		"two HPAs": testTwoAutoscalers, "foreground deletion": testForegroundDeletion, "claims": testClaims,
		"reboot": testReboot, "named record": testNamedRecord,
	}
}

// longScenarios need more time than make test has: update strategies, other ways to delete a NodeSet, and jobs that
// name its nodes.
func longScenarios() map[string]scenario {
	return map[string]scenario{
		"ScheduledUpdate": testScheduled, "OnDelete": testOnDelete, "partition": testPartition, "paused": testPaused,
		"deletion with Force": testForcedDeletion, "two NodeSets of one name": testSameName,
		"Argo CD's prune": testPrune, "orphaning": testOrphaning, "the shape changes": testShapeChange,
		"named at its deletion": testNamedAtDeletion, "named without a maximum": testNamedWithoutMaximum,
		"named by a running job": testNamedByRunningJob,
		"needed records":         testNeededRecords,
		"edits of records":       testEditsOfRecords,
		"foreign comment":        testForeignComment,
	}
}

// runScenarios runs scenarios beside each other, the longest one first.
func runScenarios(t *testing.T, s *nodeset.Env, all map[string]scenario) {
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int { return rankScenario(a) - rankScenario(b) })
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all[name](t, s)
		})
	}
}

// rankScenario orders scenarios.
func rankScenario(name string) int {
	if name == longest {
		return 0
	}
	return 1
}
