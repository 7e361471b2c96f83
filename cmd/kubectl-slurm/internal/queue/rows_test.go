package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var now = time.Date(2026, 11, 30, 21, 31, 22, 0, time.UTC)

// newJob returns a job of alice in batch that a function changes.
func newJob(id uint32, states string, change func(j *slurm.Job)) view.SlurmJob {
	j := &slurm.Job{ID: id, Name: "wrap", Partition: "batch", State: slurm.ParseJobState(strings.Split(states, "+")...),
		NodeCount: slurm.Num(1), Priority: slurm.Num(1000)}
	j.SharedOwner = slurm.ShareOwner(slurm.JobOwner{UserName: "alice", UserID: 1000})
	change(j)
	return *convert.JobObject(metav1.ObjectMeta{Namespace: "slurm", Name: "main." + slurm.Num(uint64(id)).String()},
		view.ClusterReference{Name: "main"}, j)
}

// testJobs are like those of a cluster of Slurm 26.05 whose squeue printed wantQueue.
func testJobs() []view.SlurmJob {
	ago := func(d time.Duration) slurm.Time { return slurm.At(now.Add(-d)) }
	return []view.SlurmJob{
		newJob(1, "PENDING", func(j *slurm.Job) {
			j.ArrayJobID, j.ArrayTasks, j.Reason, j.Priority = 1, "3-9%2", "JobArrayTaskLimit", slurm.Num(1667)
		}),
		newJob(2, "PENDING", func(j *slurm.Job) {
			j.Partition, j.Reason, j.Priority = "gpu,debug", "JobHeldUser", slurm.Num(0)
		}),
		newJob(3, "PENDING", func(j *slurm.Job) {
			j.Partition, j.Reason, j.StartTime = "gpu,batch", "BeginTime", slurm.At(now.Add(2*time.Hour))
		}),
		newJob(4, "PENDING", func(j *slurm.Job) {
			j.Name, j.NodeCount, j.Reason = "averylongjobname", slurm.Num(4), "Resources"
			d := slurm.JobDetails{ReasonText: "Nodes required for job are DOWN"}
			j.SharedDetails = slurm.ShareDetails(d)
		}),
		newJob(6, "RUNNING", func(j *slurm.Job) {
			j.ArrayJobID, j.ArrayTaskID, j.StartTime, j.Nodes = 1, slurm.Num(1), ago(132*time.Second), "n1"
		}),
		newJob(10, "RUNNING+COMPLETING", func(j *slurm.Job) {
			j.HetJobID, j.StartTime, j.NodeCount, j.Nodes = 10, ago(26*time.Hour), slurm.Num(3), "n[2-4]"
		}),
		newJob(12, "FAILED", func(j *slurm.Job) { j.Reason, j.Nodes = "NonZeroExitCode", "n1" }),
		newJob(17, "CANCELLED", func(j *slurm.Job) { j.Reason, j.Nodes = "None", "n1" }),
	}
}

const wantQueue = `             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
              10+0     batch     wrap    alice CG 1-02:00:00      3 n[2-4]
         1_[3-9%2]     batch     wrap    alice PD       0:00      1 (JobArrayTaskLimit)
                 4     batch averylon    alice PD       0:00      4 (Nodes required for job are DOWN)
               1_1     batch     wrap    alice  R       2:12      1 n1
                 3 gpu,batch     wrap    alice PD       0:00      1 (BeginTime)
                 2 gpu,debug     wrap    alice PD       0:00      1 (JobHeldUser)
`

func TestTheRowsAreThoseOfSqueue(t *testing.T) {
	var out strings.Builder
	rows := Rows(now, time.UTC, ByPartition, &Filter{}, testJobs())
	if err := Table(ByPartition, rows).Print(&out, table.Plain, table.WithHeadings); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantQueue, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheRowsOfStartAreThoseOfSqueue(t *testing.T) {
	const want = `             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)
                 3 gpu,batch     wrap    alice PD 2026-11-30T23:31:22      1 (null)               (BeginTime)
         1_[3-9%2]     batch     wrap    alice PD                 N/A      1 (null)               (JobArrayTaskLimit)
                 2 gpu,debug     wrap    alice PD                 N/A      1 (null)               (JobHeldUser)
                 4     batch averylon    alice PD                 N/A      4 (null)               (Nodes required for job are DOWN)
`
	var out strings.Builder
	rows := Rows(now, time.UTC, ByStart, &Filter{States: []slurm.JobState{{Base: slurm.JobPending}}}, testJobs())
	if err := Table(ByStart, rows).Print(&out, table.Plain, table.WithHeadings); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFilter(t *testing.T) {
	states := func(words ...string) []slurm.JobState {
		out, err := ParseStates(words)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"jobs that are not finished", Filter{}, "10+0 1_[3-9%2] 4 1_1 3 2"},
		{"all states", Filter{States: states("all")}, "17 10+0 12 1_[3-9%2] 4 1_1 3 2"},
		{"codes and names of states in any case", Filter{States: states("f", "Cancelled")}, "17 12"},
		{"a flag", Filter{States: states("completing")}, "10+0"},
		{"one of several partitions", Filter{Partitions: []string{"gpu"}}, "3 2"},
		{"a node within a hostlist", Filter{Nodes: []string{"n3", "n9"}}, "10+0"},
		{"a user", Filter{Users: []string{"bob", "alice"}, Nodes: []string{"n1"}}, "1_1"},
		{"a user ID", Filter{Users: []string{"1000"}, Nodes: []string{"n1"}}, "1_1"},
		{"another user", Filter{Users: []string{"bob"}}, ""},
		{"an array", Filter{IDs: []string{"1"}}, "1_[3-9%2] 1_1"},
		{"a task that is not split off", Filter{IDs: []string{"1_5", "1_2"}}, "1_[3-9%2]"},
		{"tasks as squeue prints them, split off or not", Filter{IDs: []string{"1_[3-9%2]"}}, "1_[3-9%2]"},
		{"a range of tasks that are split off", Filter{IDs: []string{"1_[1-2]"}}, "1_1"},
		{"a component of a heterogeneous job", Filter{IDs: []string{"10+0"}}, "10+0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ids []string
			for _, r := range Rows(now, time.UTC, ByPartition, &tc.filter, testJobs()) {
				ids = append(ids, r.JobID)
			}
			if got := strings.Join(ids, " "); got != tc.want {
				t.Errorf("it shows %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAnUnknownStateIsAnErrorThatListsTheStates(t *testing.T) {
	if _, err := ParseStates([]string{"PD", "waiting"}); err == nil || !strings.Contains(err.Error(), "waiting") ||
		!strings.Contains(err.Error(), "pending") {
		t.Errorf("the error is %v", err)
	}
}

func TestParseIDs(t *testing.T) {
	for _, tc := range []struct {
		list string
		want string
	}{
		{"7", "7"}, {"7,8+1,9_3", "7 8+1 9_3"}, {"7_[4,6-9%2],8", "7_[4,6-9%2] 8"}, {"4294967295", "4294967295"},
		{"", `"" is not a job ID`}, {"abc", `"abc" is not a job ID`}, {"7,x", `"x" is not a job ID`}, {"-7", "is not a job ID"},
		{"7_", "is not a job ID"}, {"7_[1", "is not a job ID"}, {"7_[]", "is not a job ID"}, {",", "is not a job ID"}, {"7 8", "is not a job ID"},
		{"7]", "is not a job ID"},
	} {
		got, err := ParseIDs([]string{tc.list})
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, tc.want) || err == nil && text != tc.want {
			t.Errorf("ParseIDs(%q) = %s, want %s", tc.list, text, tc.want)
		}
	}
}

func TestAnUnknownNumberOfNodesIsNotZero(t *testing.T) {
	jobs := []view.SlurmJob{*convert.JobObject(metav1.ObjectMeta{}, view.ClusterReference{}, &slurm.Job{ID: 7, State: slurm.ParseJobState("PENDING")})}
	var out strings.Builder
	if err := Table(ByPartition, Rows(now, time.UTC, ByPartition, &Filter{}, jobs)).Print(&out, table.Plain, table.WithoutHeadings); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "   N/A (None)") {
		t.Errorf("it prints %q", out.String())
	}
}
