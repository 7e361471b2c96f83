package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newRecordsObservation has a drained worker with a job, an idle node without a pod, and waiting jobs.
func newRecordsObservation(reason string) *Observation {
	now := time.Date(2026, 11, 30, 21, 31, 22, 0, time.UTC)
	ago := func(d time.Duration) slurm.Time { return slurm.At(now.Add(-d)) }
	job := func(id uint32, state, reason string, priority uint64) *slurm.Job {
		j := &slurm.Job{ID: id, Name: "train", Partition: "gpu", State: slurm.ParseJobState(state), Reason: reason,
			Priority: slurm.Num(priority), SubmitTime: ago(time.Hour), EligibleTime: ago(time.Hour)}
		j.EditOwner(func(o *slurm.JobOwner) { o.UserName = "alice" })
		return j
	}
	running := job(7, "RUNNING", "None", 10)
	running.StartTime, running.Nodes = ago(26*time.Hour), "gpu-[0-1]"
	held := job(8, "PENDING", "JobHeldUser", 0)
	held.Hold = true
	pod := corev1.Pod{}
	pod.Name, pod.Spec.NodeName, pod.Status.Phase = "slurm-worker-gpu-0", "kube-3", corev1.PodRunning
	pod.Labels = map[string]string{v1beta1.LabelPodHostname: "gpu-0", v1beta1.LabelCluster: "main",
		v1beta1.LabelAppInstance: "slurm-worker-gpu"}
	return &Observation{Now: now, Pods: []corev1.Pod{pod}, Slurm: &SlurmRecords{
		Jobs: []*slurm.Job{running, held, job(9, "FAILED", "NonZeroExitCode", 10)},
		Nodes: []*slurm.Node{
			{Name: "gpu-0", State: slurm.ParseNodeState("MIXED", "DRAIN"), Partitions: []string{"gpu"}, Reason: reason,
				ReasonBy: "root", ReasonAt: ago(2 * time.Minute)},
			{Name: "gpu-1", State: slurm.ParseNodeState("IDLE"), Partitions: []string{"gpu"}, LastBusy: ago(2 * time.Hour)},
		},
		Partitions: []*slurm.Partition{{Name: "gpu", State: slurm.PartitionUp, Default: true, MaxTime: slurm.Num(1440),
			AllowAccounts: "physics"}},
	}}
}

const wantNode = `Node gpu-0 of Slurm cluster slurm/main: drng (MIXED+DRAIN)
  its jobs continue, and it gets no new ones
  Slurm's reason: bad disk
    set by root at 2026-11-30T21:29:22Z
  partitions: gpu
  worker pod: slurm-worker-gpu-0 (Running) of NodeSet slurm-worker-gpu on Kubernetes node kube-3

Jobs on the node
  JOBID   USER    NAME    ST   TIME         NODELIST(REASON)
  7       alice   train   R    1-02:00:00   gpu-[0-1]

What helps
  - scontrol update nodename=gpu-0 state=resume ends the drain, once its reason is gone
`

func TestTheTextOfADrainedNode(t *testing.T) {
	observed := newRecordsObservation("bad disk")
	e := OfNode(observed, "slurm", "main", observed.Slurm.Nodes[0])
	var out strings.Builder
	if err := e.Write(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantNode, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestADrainOfTheOperatorIsNotToBeEndedByHand(t *testing.T) {
	observed := newRecordsObservation(v1beta1.DrainReasonPrefix + "scale-in")
	e := OfNode(observed, "slurm", "main", observed.Slurm.Nodes[0])
	if got := strings.Join(e.Cures, "\n"); strings.Contains(got, "scontrol") ||
		!strings.Contains(got, "explain nodeset slurm-worker-gpu") {
		t.Errorf("the cures are %q", got)
	}
}

func TestANodeWithoutAPodAndJobs(t *testing.T) {
	observed := newRecordsObservation("bad disk")
	observed.Slurm.Jobs = nil
	e := OfNode(observed, "slurm", "main", observed.Slurm.Nodes[1])
	if e.Pod != "" || len(e.Jobs) != 0 || len(e.Cures) != 0 || e.Meaning != "it is free for jobs" {
		t.Errorf("it is %+v", e)
	}
	if got := strings.Join(e.Details, "\n"); got != "it last had a job 120m ago" {
		t.Errorf("the details are %q", got)
	}
}

const wantPartition = `Partition gpu (the default) of Slurm cluster slurm/main: up
  it accepts and starts jobs
  time limit: 1-00:00:00
  only the accounts physics
  NodeSets: slurm-worker-gpu

Nodes
  NODES   STATE   NODELIST
  1       drng    gpu-0
  1       idle    gpu-1

Why nodes get no jobs
  REASON     SET BY   AT                    NODELIST
  bad disk   root     2026-11-30T21:29:22   gpu-0

1 job running

Pending jobs
  CLASS   JOBS   WAIT BECAUSE
  held    1      they are held
`

func TestTheTextOfAPartition(t *testing.T) {
	observed := newRecordsObservation("bad disk")
	e := OfPartition(observed, "slurm", "main", observed.Slurm.Partitions[0])
	var out strings.Builder
	if err := e.Write(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantPartition, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAFinishedJobIsDescribedInThePastWithItsExit(t *testing.T) {
	at := slurm.At(time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC))
	for _, tc := range []struct {
		name   string
		change func(j *slurm.Job)
		want   string
	}{
		{"an exit code", func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.ExitCode = slurm.Num(3) }) },
			"it ran on n1; it started at 2026-11-30T21:00:00Z; it ended at 2026-11-30T21:00:09Z with exit code 3"},
		{"a signal", func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.ExitSignal = 9 }) },
			"it ran on n1; it started at 2026-11-30T21:00:00Z; it ended at 2026-11-30T21:00:09Z by signal 9"},
		{"a running job", func(j *slurm.Job) { j.State = slurm.ParseJobState("RUNNING") },
			"it runs on n1; it started at 2026-11-30T21:00:00Z; its time limit ends at 2026-11-30T21:00:09Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := &slurm.Job{ID: 7, State: slurm.ParseJobState("FAILED"), Reason: "NonZeroExitCode", Nodes: "n1",
				StartTime: at, EndTime: at + 9}
			tc.change(j)
			e := OfJob(&Observation{}, "slurm", "main", j)
			if got := strings.Join(e.Details, "; "); got != tc.want {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEmptyListsAreNotNullInJSON(t *testing.T) {
	observed := &Observation{Slurm: &SlurmRecords{}}
	for name, object := range map[string]any{
		"a node without partitions": OfNode(observed, "slurm", "main", &slurm.Node{Name: "n1", State: slurm.ParseNodeState("IDLE")}),
		"a partition without jobs":  OfPartition(observed, "slurm", "main", &slurm.Partition{Name: "gpu", State: slurm.PartitionUp}),
		"a running job":             OfJob(observed, "slurm", "main", &slurm.Job{ID: 7, State: slurm.ParseJobState("RUNNING")}),
		"a job without a NodeSet":   OfJob(observed, "slurm", "main", &slurm.Job{ID: 7, State: slurm.ParseJobState("PENDING")}),
	} {
		text, err := json.Marshal(object)
		if err != nil || strings.Contains(string(text), ":null") {
			t.Errorf("%s is %s, %v", name, text, err)
		}
	}
}
