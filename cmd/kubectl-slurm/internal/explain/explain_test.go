package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// newNodeSet returns a NodeSet with workers of 8 CPUs and a maximum of most workers.
func newNodeSet(name string, replicas, most int32) v1beta1.NodeSet {
	n := v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name, UID: "uid"}}
	n.Spec.ClusterRef = &corev1.LocalObjectReference{Name: "alpha"}
	n.Spec.Replicas, n.Spec.MaxReplicas, n.Spec.ExtraConf = &replicas, &most, "CPUs=8 RealMemory=16000"
	n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true}
	n.Status.Replicas, n.Status.ReadyReplicas = replicas, replicas
	return n
}

func newNode(name string, state slurm.NodeBase, busyCPUs uint32) *slurm.Node {
	return &slurm.Node{
		Name: name, State: slurm.NodeState{Base: state, Flags: slurm.NodeDynamicNorm}, CPUs: 8, EffectiveCPUs: 8, MemoryMiB: 16000,
		AllocCPUs:  busyCPUs,
		Partitions: []string{"gpu"}, Features: []string{"gpu"}, LastBusy: slurm.At(now.Add(-time.Hour)),
		SlurmdStartTime: slurm.At(now.Add(-2 * time.Hour)),
	}
}

// pendingJob returns a pending job that uses whole workers.
func pendingJob(id uint32, nodes uint64) *slurm.Job {
	return &slurm.Job{
		ID: id, Name: "j", SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "alice"}), Partition: "gpu",
		State:    slurm.JobState{Base: slurm.JobPending},
		Reason:   "Resources",
		Priority: slurm.Num(1), SubmitTime: slurm.At(now.Add(-time.Minute)),
		EligibleTime: slurm.At(now.Add(-time.Minute)),
		NodeCount:    slurm.Num(nodes), CPUs: slurm.Num(8 * nodes), SharedDetails: slurm.ShareDetails(slurm.JobDetails{Shared: "none"}),
	}
}

func runningJob(id uint32, on string, left time.Duration) *slurm.Job {
	j := pendingJob(id, 1)
	j.State.Base, j.Nodes, j.Reason, j.EndTime = slurm.JobRunning, on, "", slurm.At(now.Add(left))
	if left == 0 {
		j.EndTime = slurm.Never
	}
	return j
}

// newTestObservation returns a NodeSet with two busy workers and one idle worker.
func newTestObservation(jobs ...*slurm.Job) *Observation {
	return &Observation{
		Now: now, NodeSets: []v1beta1.NodeSet{newNodeSet("gpu", 3, 4)},
		Slurm: &SlurmRecords{
			Partitions: []*slurm.Partition{{Name: "gpu", State: slurm.PartitionUp, TotalNodes: 3}},
			Nodes: []*slurm.Node{newNode("gpu-0", slurm.NodeAllocated, 8), newNode("gpu-1", slurm.NodeAllocated, 8),
				newNode("gpu-2", slurm.NodeIdle, 0)},
			Jobs: append([]*slurm.Job{runningJob(1, "gpu-0", time.Hour), runningJob(2, "gpu-1", 2*time.Hour)}, jobs...),
		},
		Numbers: map[string]top.Numbers{"gpu": {}},
	}
}

// withMetrics adds the numbers of an adapter with default flags for the same records.
func (s *Observation) withMetrics() *Observation { return s.withMetricsOf(metricsapi.PoolDefaults{}) }

func (s *Observation) withMetricsOf(adapter metricsapi.PoolDefaults) *Observation {
	pool := metricsapi.PoolOf(&s.NodeSets[0], nil, adapter)
	p := demand.Compute(s.Now, s.Slurm.snapshot(s.Now), pool).Pools[0]
	s.Numbers["gpu"] = top.Numbers{
		"slurm_nodeset_required_nodes": p.Required, "slurm_nodeset_busy_nodes": p.Busy,
		"slurm_nodeset_idle_nodes":    p.Idle,
		"slurm_nodeset_pending_nodes": p.Pending, "slurm_nodeset_booting_nodes": p.Booting,
		"slurm_nodeset_unusable_nodes": p.Unusable, "slurm_nodeset_claimed_nodes": p.Claimed,
		"slurm_nodeset_grace_nodes": p.Grace, "slurm_nodeset_replacement_nodes": p.Replacements,
		"slurm_nodeset_idle_grace_seconds": uint64(pool.IdleGrace.Seconds()),
	}
	return s
}

func formatNeed(n Need) string {
	show := func(v *uint64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprintf("busy %s claimed %s grace %s booting %s pending %s replacements %s required %s", show(n.Busy),
		show(n.IdleClaimed), show(n.Grace),
		show(n.BootingClaimed), show(n.Pending), show(n.Replacements), show(n.Required))
}

func TestNeedIsSplitIntoParts(t *testing.T) {
	held := pendingJob(9, 1)
	held.Hold = true
	for _, tc := range []struct {
		name     string
		observed func() *Observation
		want     string
		blocks   []string
	}{
		{"nothing waits", func() *Observation { return newTestObservation().withMetrics() },
			"busy 2 claimed 0 grace 0 booting 0 pending 0 replacements 0 required 2",
			[]string{"no HPA scales it: spec.replicas stays 3 until a user changes it"}},
		{"a job for the idle worker", func() *Observation { return newTestObservation(pendingJob(3, 1)).withMetrics() },
			"busy 2 claimed 1 grace 0 booting 0 pending 0 replacements 0 required 3", nil},
		{"more than the maximum", func() *Observation {
			return newTestObservation(pendingJob(3, 1), pendingJob(4, 1), pendingJob(5, 1)).withMetrics()
		},
			"busy 2 claimed 1 grace 0 booting 0 pending 2 replacements 0 required 4",
			[]string{"jobs need 5 workers, but the maximum is 4",
				"no HPA scales it: spec.replicas stays 3 until a user changes it"}},
		{"a held job needs no worker", func() *Observation { return newTestObservation(held).withMetrics() },
			"busy 2 claimed 0 grace 0 booting 0 pending 0 replacements 0 required 2",
			[]string{"no HPA scales it: spec.replicas stays 3 until a user changes it"}},
		{"an idle grace", func() *Observation {
			s := newTestObservation()
			s.NodeSets[0].Annotations = map[string]string{v1beta1.AnnotationIdleGrace: "2h"}
			return s.withMetrics()
		}, "busy 2 claimed 0 grace 1 booting 0 pending 0 replacements 0 required 3", nil},
		{"an idle grace of the adapter", func() *Observation {
			return newTestObservation().withMetricsOf(metricsapi.PoolDefaults{IdleGrace: 2 * time.Hour})
		}, "busy 2 claimed 0 grace 1 booting 0 pending 0 replacements 0 required 3", nil},
		{"an unusable worker", func() *Observation {
			s := newTestObservation(pendingJob(3, 1))
			s.Slurm.Nodes[2].State.Base = slurm.NodeDown
			return s.withMetrics()
		}, "busy 2 claimed 0 grace 0 booting 0 pending 1 replacements 1 required 4",
			[]string{"no HPA scales it: spec.replicas stays 3 until a user changes it"}},
		{"without the view", func() *Observation {
			s := newTestObservation(
				pendingJob(3, 1)).withMetrics()
			s.Slurm = nil
			return s
		},
			"busy 2 claimed 1 grace 0 booting 0 pending 0 replacements 0 required 3", nil},
		{"without metrics", func() *Observation { s := newTestObservation(pendingJob(3, 1)); s.Slurm = nil; return s },
			"busy ? claimed ? grace ? booting ? pending ? replacements ? required ?",
			[]string{"the number of required workers is unknown: spec.replicas does not change"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, there := OfNodeSet(tc.observed(), "gpu")
			if !there || formatNeed(got.Need) != tc.want {
				t.Errorf("got  %s\nwant %s\ngaps %v", formatNeed(got.Need), tc.want, got.Gaps)
			}
			if diff := cmp.Diff(append([]string{}, tc.blocks...), got.Blocks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPartsThatDoNotAddUpAreUnknown(t *testing.T) {
	s := newTestObservation(pendingJob(3, 1)).withMetrics()
	s.Numbers["gpu"]["slurm_nodeset_required_nodes"] = 7
	got, _ := OfNodeSet(s, "gpu")
	if *got.Need.Required != 7 || got.Need.IdleClaimed != nil || got.Need.Kept != nil {
		t.Errorf("got %s", formatNeed(got.Need))
	}
}

// TestWithoutRecordsOneWorkerIsRequired: Slurm accepts no job before a worker has registered, so none can ask for one.
func TestWithoutRecordsOneWorkerIsRequired(t *testing.T) {
	const row = "1   until a worker has registered: without a record, Slurm accepts no job"
	for _, tc := range []struct {
		reason string
		want   uint64
	}{{v1beta1.ReasonRecordsUnsupported, 1}, {v1beta1.ReasonRecordsMissing, 0}} {
		s := newTestObservation()
		s.NodeSets[0] = newNodeSet("gpu", 0, 4)
		s.NodeSets[0].Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSubmittable, Status: metav1.ConditionFalse, Reason: tc.reason}}
		s.Slurm.Nodes, s.Slurm.Jobs = nil, nil
		got, _ := OfNodeSet(s.withMetrics(), "gpu")
		var page strings.Builder
		if err := got.Write(&page); err != nil {
			t.Fatal(err)
		}
		if got.Need.Least != tc.want || *got.Need.Required != tc.want || got.Need.Kept == nil || strings.Contains(page.String(), row) != (tc.want == 1) {
			t.Errorf("with %s at least %d are required:\n%s", tc.reason, got.Need.Least, &page)
		}
	}
}

func TestAJobThatFitsWorkersInGraceNeedsNoMore(t *testing.T) {
	j := pendingJob(9, 1)
	s := newTestObservation(j).withMetricsOf(metricsapi.PoolDefaults{IdleGrace: 2 * time.Hour})
	if diff := cmp.Diff([]Serving{{"gpu", true, "", 3, 3, 3}}, OfJob(s, "hpc", "alpha", j).Serving); diff != "" {
		t.Error(diff)
	}
}

func TestSeveralAutoscalersBlock(t *testing.T) {
	s := newTestObservation().withMetrics()
	for _, name := range []string{"a", "b"} {
		h := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name}}
		h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1",
			Kind: "NodeSet", Name: "gpu"}
		h.Spec.MaxReplicas = 4
		s.Autoscalers = append(s.Autoscalers, h)
	}
	got, _ := OfNodeSet(s, "gpu")
	if diff := cmp.Diff([]string{"2 HPAs scale it and block each other"}, got.Blocks); diff != "" ||
		got.Autoscaler != nil {
		t.Error(diff)
	}
}

func TestANodeSetThatIsNotThere(t *testing.T) {
	if _, there := OfNodeSet(newTestObservation(), "cpu"); there {
		t.Error("it exists")
	}
}

func TestJobs(t *testing.T) {
	change := func(how func(j *slurm.Job)) *slurm.Job {
		j := pendingJob(9, 1)
		how(j)
		return j
	}
	for _, tc := range []struct {
		name    string
		job     *slurm.Job
		class   pending.Class
		help    Help
		serving Serving
	}{
		{"it waits for a worker", pendingJob(9, 2), pending.ClassCapacity, HelpYes, Serving{"gpu", true, "", 3, 2, 4}},
		{"it is held", change(func(j *slurm.Job) { j.Hold = true }), pending.ClassHeld, HelpLater,
			Serving{"gpu", true, "", 3, 2, 3}},
		{"it waits for another job", change(func(j *slurm.Job) { j.Dependency = "afterok:1(unfulfilled)" }),
			pending.ClassDependency, HelpLater, Serving{"gpu", true, "", 3, 2, 3}},
		{"its begin time is in the future",
			change(func(j *slurm.Job) { j.EligibleTime = slurm.At(now.Add(time.Hour)) }), pending.ClassTime, HelpLater,
			Serving{"gpu", true, "", 3, 2, 3}},
		{"it is too large", pendingJob(9, 9), pending.ClassUnsatisfiable, HelpNo,
			Serving{"gpu", false, "more nodes than the pool's maximum", 3, 2, 2}},
		{"no worker has its feature", change(func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Features = "tpu" }) }),
			pending.ClassUnsatisfiable,
			HelpNo, Serving{"gpu", false, "no node has the features or the disk", 3, 2, 2}},
		{"it may not use its account", change(func(j *slurm.Job) { j.Reason = "InvalidAccount" }), pending.ClassInvalid,
			HelpNo, Serving{"gpu", true, "", 3, 2, 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := OfJob(newTestObservation(tc.job), "hpc", "alpha", tc.job)
			if got.Class != tc.class || got.Help != tc.help || got.Meaning == "" {
				t.Errorf("it waits for %s (%s); help: %s", got.Class, got.Meaning, got.Help)
			}
			if diff := cmp.Diff([]Serving{tc.serving}, got.Serving); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestANodeSetOfAnotherPartitionDoesNotServeAJob(t *testing.T) {
	j := pendingJob(9, 1)
	s := newTestObservation(j)
	s.NodeSets = append(s.NodeSets, newNodeSet("cpu", 0, 4))
	s.Slurm.Partitions = append(s.Slurm.Partitions, &slurm.Partition{Name: "cpu", State: slurm.PartitionUp})
	got := OfJob(s, "hpc", "alpha", j)
	want := []Serving{{"cpu", false, "it belongs to none of the job's partitions", 0, 0, 0}, {"gpu", true, "", 3, 2, 3}}
	if diff := cmp.Diff(want, got.Serving); diff != "" {
		t.Error(diff)
	}
}

func TestAJobThatRunsNeedsNoHelp(t *testing.T) {
	j := runningJob(9, "gpu-2", time.Hour)
	got := OfJob(newTestObservation(j), "hpc", "alpha", j)
	if got.Help != HelpNotNeeded || got.Class != "" || len(got.Serving) > 0 ||
		!strings.Contains(strings.Join(got.Details, " "), "it runs on gpu-2") {
		t.Errorf("got %+v", got)
	}
}

func TestEveryClassHasAMeaning(t *testing.T) {
	for _, c := range pending.Classes() {
		for _, n := range []Number{One, Many} {
			if Meaning(c, n) == "" {
				t.Errorf("%s of %s has no meaning", c, n)
			}
		}
	}
}
