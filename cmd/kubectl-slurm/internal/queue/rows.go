package queue

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Row is a row of squeue.
type Row struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Object is the name of the object in the view.
	Object    string `json:"object"`
	JobID     string `json:"jobID"`
	Partition string `json:"partition"`
	Name      string `json:"name"`
	User      string `json:"user"`
	// State is the code of squeue, such as PD.
	State     string `json:"state"`
	Time      string `json:"time"`
	StartTime string `json:"startTime"`
	// Nodes is the number of nodes as squeue prints it, or empty if it is unknown.
	Nodes     string `json:"nodes"`
	Scheduled string `json:"scheduledNodes,omitempty"`
	Where     string `json:"nodeListOrReason"`
	priority  uint64
	id        uint32
	start     slurm.Time
}

// Order is the order of the rows.
type Order string

// The orders of squeue.
const (
	// ByPartition sorts by partition, state and falling priority.
	ByPartition Order = "partition"
	// ByStart sorts by falling expected start time; jobs without one come last.
	ByStart Order = "start"
)

// Rows returns the rows of the jobs that the filter selects. Rows that compare equal are sorted by the ID of the record.
func Rows(now time.Time, zone *time.Location, order Order, f *Filter, jobs []view.SlurmJob) []Row {
	var rows []Row
	for i := range jobs {
		if j := convert.JobRecord(&jobs[i]); f.Selects(j) {
			rows = append(rows, newRow(now, zone, &jobs[i], j))
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		place := cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
		if order == ByStart {
			return cmp.Or(place, -cmp.Compare(a.start, b.start), cmp.Compare(a.id, b.id))
		}
		return cmp.Or(place, cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.State, b.State),
			-cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id))
	})
	return rows
}

func newRow(now time.Time, zone *time.Location, v *view.SlurmJob, j *slurm.Job) Row {
	nodes := ""
	if n, known := j.NodeCount.Value(); known {
		nodes = records.FormatCount(n)
	}
	priority, _ := j.Priority.Value()
	return Row{
		Namespace: v.Namespace, Cluster: v.Spec.Cluster.Name, Object: v.Name,
		JobID: records.JobID(j), Partition: j.Partition, Name: j.Name, User: j.UserName(), State: j.State.Code(),
		Time: records.FormatTime(j.RunTime(slurm.At(now))), StartTime: records.FormatDate(j.StartTime, zone),
		Nodes: nodes, Scheduled: j.ScheduledNodes(), Where: records.WhereOrWhy(j),
		priority: priority, id: j.ID, start: j.StartTime,
	}
}

// Filter selects jobs like the options of squeue. Empty lists select all.
type Filter struct {
	Users, Partitions []string
	// States are the states of ParseStates; nil selects jobs that are not finished.
	States []slurm.JobState
	// Nodes are the names of nodes.
	Nodes []string
	// IDs are job IDs of ParseIDs.
	IDs []string
	// hosts are the names of each hostlist.
	hosts map[string]map[string]bool
}

// Selects reports whether a job is shown.
func (f *Filter) Selects(j *slurm.Job) bool {
	return f.selectsState(j.State) &&
		(len(f.Users) == 0 || slices.Contains(f.Users, j.UserName()) ||
			slices.Contains(f.Users, strconv.FormatUint(uint64(j.UserID()), 10))) &&
		(len(f.Partitions) == 0 || slices.ContainsFunc(f.Partitions, func(p string) bool { return slices.Contains(j.Partitions(), p) })) &&
		(len(f.Nodes) == 0 || f.hasNode(j.Nodes)) &&
		(len(f.IDs) == 0 || slices.ContainsFunc(f.IDs, func(id string) bool { return records.HasID(j, id) || isInRange(j, id) }))
}

func (f *Filter) selectsState(s slurm.JobState) bool {
	if f.States == nil {
		return !s.Base.Finished() || s.Has(slurm.JobCompleting) || s.Has(slurm.JobStageOut)
	}
	return len(f.States) == 0 || slices.ContainsFunc(f.States, func(want slurm.JobState) bool {
		if want.Flags != 0 {
			return s.Has(want.Flags)
		}
		return s.Base == want.Base
	})
}

// hasNode reports whether a hostlist contains one of the nodes.
func (f *Filter) hasNode(list string) bool {
	if f.hosts == nil {
		f.hosts = map[string]map[string]bool{}
	}
	names, known := f.hosts[list]
	if !known {
		names = records.NodeSet(list)
		f.hosts[list] = names
	}
	return slices.ContainsFunc(f.Nodes, func(n string) bool { return names[n] })
}

// ParseStates parses the states of -t, which are names or codes in any case. "all" returns an empty list that is not nil. An
// unknown state is an error that lists the known ones.
func ParseStates(words []string) ([]slurm.JobState, error) {
	if len(words) == 0 {
		return nil, nil
	}
	out := []slurm.JobState{}
	for _, word := range words {
		if strings.EqualFold(word, "all") {
			return []slurm.JobState{}, nil
		}
		state, ok := slurm.JobCodes()[strings.ToUpper(word)]
		if !ok {
			state, ok = stateNames()[strings.ToUpper(word)]
		}
		if !ok {
			return nil, &UnknownStateError{Word: word}
		}
		out = append(out, state)
	}
	return out, nil
}

// stateNames maps the names of states and flags to them.
func stateNames() map[string]slurm.JobState {
	out := map[string]slurm.JobState{}
	for _, s := range slurm.JobCodes() {
		names := s.Names()
		out[names[len(names)-1]] = s
	}
	return out
}

// StateNames returns the names of the states that -t accepts, in lower case.
func StateNames() []string {
	var out []string
	for name := range stateNames() {
		out = append(out, strings.ToLower(name))
	}
	slices.Sort(out)
	return append(out, "all")
}

// UnknownStateError reports a state that squeue does not have.
type UnknownStateError struct{ Word string }

func (e *UnknownStateError) Error() string {
	return "unknown job state " + e.Word + "; the states are " + strings.Join(StateNames(), ", ")
}
