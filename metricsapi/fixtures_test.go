package metricsapi

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// noon is the current time in most tests.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// snapshotOf returns a snapshot whose resources were read a second before noon.
func snapshotOf(nodes []*slurm.Node, jobs []*slurm.Job, partitions ...*slurm.Partition) *slurmclient.Snapshot {
	s := &slurmclient.Snapshot{Sequence: 1}
	poll := func(r slurmclient.Resource) slurmclient.Poll {
		return slurmclient.Poll{Resource: r, Enabled: true, Known: true, Sequence: 1, ReadAt: noon().Add(-time.Second)}
	}
	s.Nodes.Value, s.Nodes.Poll = nodes, poll(slurmclient.Nodes)
	s.Jobs.Value, s.Jobs.Poll = jobs, poll(slurmclient.Jobs)
	s.Partitions.Value, s.Partitions.Poll = partitions, poll(slurmclient.Partitions)
	return s
}

func aPartition(name string) *slurm.Partition {
	return &slurm.Partition{Name: name, State: slurm.PartitionUp}
}

// aNode returns a node with 8 CPUs and the feature of a pool, in partitions such as "a,b".
func aNode(name, feature, partitions string, state slurm.NodeBase) *slurm.Node {
	return &slurm.Node{
		Name: name, State: slurm.NodeState{Base: state}, CPUs: 8, EffectiveCPUs: 8, MemoryMiB: 16000,
		Features: []string{feature}, Partitions: strings.Split(partitions, ","),
	}
}

// aJob returns a job that has requested a whole node of partitions such as "a,b" for an hour.
func aJob(id uint32, partitions, reason string) *slurm.Job {
	submitted := slurm.At(noon().Add(-time.Hour))
	return &slurm.Job{
		ID: id, Partition: partitions, State: slurm.JobState{Base: slurm.JobPending}, Reason: reason,
		Priority:   slurm.Num(100),
		SubmitTime: submitted, EligibleTime: submitted, LastSchedEval: submitted,
		NodeCount: slurm.Num(1), CPUs: slurm.Num(8), Tasks: slurm.Num(1),
		SharedDetails: slurm.ShareDetails(slurm.JobDetails{CPUsPerTask: slurm.Num(8), MinCPUsPerNode: slurm.Num(8), Shared: "none"}),
		ArrayTaskID:   slurm.Unset(),
	}
}

// fakeCluster is a Cluster with a fixed reading or error.
type fakeCluster struct {
	name    string
	reading *Reading
	err     error
}

func (c fakeCluster) Name() string               { return c.name }
func (c fakeCluster) String() string             { return "team/" + c.name }
func (c fakeCluster) Reading() (*Reading, error) { return c.reading, c.err }

// clusterOf returns a cluster whose reading was computed from the snapshot and the pools at noon.
func clusterOf(name string, s *slurmclient.Snapshot, pools ...demand.Pool) fakeCluster {
	return fakeCluster{name: name, reading: new(Reader).Read(noon(), s, pools)}
}

// fakeDirectory lists objects by resource.
type fakeDirectory map[string][]fakeObject

type fakeObject struct {
	Object
	labels labels.Set
}

func (d fakeDirectory) Object(of Resource, namespace, name string) (Object, bool) {
	for _, o := range d[of.Resource] {
		if o.Namespace == namespace && o.Name == name {
			return o.Object, true
		}
	}
	return Object{}, false
}

func (d fakeDirectory) Objects(of Resource, namespace string, matching labels.Selector) []Object {
	var out []Object
	for _, o := range d[of.Resource] {
		if o.Namespace == namespace && matching.Matches(o.labels) {
			out = append(out, o.Object)
		}
	}
	slices.SortFunc(out, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// testDirectory contains the namespace team with the clusters red and blue. Red has the partitions a, b and both; the
// partition both has the nodes of a and b.
func testDirectory(change ...func(*slurmclient.Snapshot)) fakeDirectory {
	held := aJob(4, "a", "JobHeldUser")
	held.Hold, held.Priority = true, slurm.Num(0)
	running := aJob(5, "a", "None")
	running.State.Base, running.Nodes = slurm.JobRunning, "a0"
	array := aJob(6, "b", "Resources")
	array.ArrayJobID, array.ArrayTasks = 6, "1-3"
	red := snapshotOf(
		[]*slurm.Node{
			aNode("a0", "a", "a,both", slurm.NodeAllocated), aNode("a1", "a", "a,both", slurm.NodeIdle),
			aNode("b0", "b", "b,both", slurm.NodeIdle),
		},
		[]*slurm.Job{aJob(1, "a", "Resources"), aJob(2, "a,b", "Resources"), aJob(3, "a", "Dependency"), held, running,
			array},
		aPartition("a"), aPartition("b"), aPartition("both"),
	)
	red.Jobs.Value[2].Dependency = "afterok:1"
	for _, f := range change {
		f(red)
	}
	pools := []demand.Pool{
		{Name: "team/a", Feature: "a", Partitions: []string{"a"}, Max: 4, Replicas: 2},
		{Name: "team/b", Feature: "b", Replicas: 1},
	}
	redCluster := clusterOf("red", red, pools...)
	blue := clusterOf("blue", snapshotOf([]*slurm.Node{aNode("n0", "c", "a", slurm.NodeIdle)},
		[]*slurm.Job{aJob(1, "a", "Resources")}, aPartition("a")))
	object := func(namespace, name, pool string, set labels.Set, of ...Cluster) fakeObject {
		return fakeObject{Object{Namespace: namespace, Name: name, Pool: pool, Clusters: of}, set}
	}
	return fakeDirectory{
		"nodesets": {
			object("team", "a", "team/a", labels.Set{"tier": "gold"}, redCluster),
			object("team", "b", "team/b", labels.Set{"tier": "silver"}, redCluster),
			object("team", "new", "team/new", labels.Set{"tier": "new"}, redCluster),
		},
		"clusters":    {object("team", "red", "", nil, redCluster)},
		"controllers": {object("team", "blue", "", nil, blue)},
		"namespaces":  {object("", "team", "", labels.Set{"env": "prod"}, redCluster, blue)},
	}
}

func nameInTeam(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

func infoOf(metric string) provider.CustomMetricInfo {
	return provider.CustomMetricInfo{GroupResource: NodeSets().GroupResource, Namespaced: true, Metric: metric}
}
