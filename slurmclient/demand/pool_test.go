package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newPool returns a pool of at most 10 workers with 4 CPUs, 8,000 MiB and the feature of its name,
// in partition cpu, changed by the options.
func newPool(name string, options ...poolOption) demand.Pool {
	p := demand.Pool{
		Name: name, Feature: name, Partitions: []string{"cpu"}, Max: 10,
		Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000},
	}
	for _, o := range options {
		o(&p)
	}
	return p
}

type poolOption func(*demand.Pool)

func serving(partitions ...string) poolOption {
	return func(p *demand.Pool) { p.Partitions = partitions }
}

func shaped(s *demand.Shape) poolOption { return func(p *demand.Pool) { p.Shape = s } }

func bounds(low, high uint64) poolOption {
	return func(p *demand.Pool) { p.Min, p.Max = low, high }
}

func replicas(n uint64) poolOption { return func(p *demand.Pool) { p.Running = n } }

func grace(d time.Duration) poolOption { return func(p *demand.Pool) { p.IdleGrace = d } }

func lead(d time.Duration) poolOption { return func(p *demand.Pool) { p.Lead = d } }

// newWorker returns a node of pool w.
func worker(name string, options ...nodeOption) *slurm.Node {
	return node(name, append([]nodeOption{having("w")}, options...)...)
}

// idleSince sets when the last job of the node ended.
func idleSince(ago slurm.Time) nodeOption {
	return func(n *slurm.Node) { n.LastBusy = noon - ago }
}

func exclusive(j *slurm.Job) { j.Shared = "none" }

func withConstraint(text string) jobOption { return func(j *slurm.Job) { j.Features = text } }

func held(j *slurm.Job) { j.Hold = true }

// demandsOf computes the demand on the pools among the objects.
func demandsOf(t *testing.T, nouns ...any) demand.Demand {
	t.Helper()
	s, pools := splitPools(t, nouns...)
	return demand.Compute(time.Unix(int64(noon), 0), s, pools...)
}

func splitPools(t *testing.T, nouns ...any) (*slurmclient.Snapshot, []demand.Pool) {
	t.Helper()
	var pools []demand.Pool
	var rest []any
	for _, noun := range nouns {
		if p, ok := noun.(demand.Pool); ok {
			pools = append(pools, p)
		} else {
			rest = append(rest, noun)
		}
	}
	return snapshotOf(t, rest...), pools
}

// poolFigures are the numbers of a pool that tests compare.
type want struct {
	Required, Busy, Idle, Booting, Unusable, Off, Pending, Claimed, Grace, Replacements, Eligible uint64
}

func wantOf(p demand.PoolDemand) want {
	return want{
		p.Required, p.Busy, p.Idle, p.Booting, p.Unusable, p.Off, p.Pending, p.Claimed, p.Grace,
		p.Replacements, p.EligiblePendingJobs,
	}
}

func TestTheNodesOfAPool(t *testing.T) {
	soon := func(from, to slurm.Time) *slurm.Reservation {
		return &slurm.Reservation{Name: "r", StartTime: noon + from, EndTime: noon + to, Nodes: "w[1-2]"}
	}
	hour := lead(time.Hour)
	tests := map[string]struct {
		nouns []any
		want  want
	}{
		"without records there are no nodes":        {[]any{newPool("w")}, want{}},
		"a node without the feature does not count": {[]any{newPool("w"), node("n1", state("ALLOCATED"))}, want{}},
		"the first feature identifies the pool":     {[]any{newPool("w"), newPool("v"), node("n1", having("w", "v"), state("ALLOCATED"))}, want{Required: 1, Busy: 1}},
		"an active feature identifies the pool":     {[]any{newPool("w"), node("n1", state("ALLOCATED"), func(n *slurm.Node) { n.ActiveFeatures = []string{"w", "x"} })}, want{Required: 1, Busy: 1}},
		"allocated, mixed and completing are busy": {
			[]any{newPool("w"), worker("w1", state("ALLOCATED")), worker("w2", used(1, 0)),
				worker("w3", state("IDLE+COMPLETING"))}, want{Required: 3, Busy: 3},
		},
		"a draining worker with work is busy":       {[]any{newPool("w"), worker("w1", state("MIXED+DRAIN"), used(1, 0))}, want{Required: 1, Busy: 1}},
		"a suspended job keeps its node busy":       {[]any{newPool("w"), worker("w1"), job(1, running("w1"), with(func(j *slurm.Job) { j.State.Base = slurm.JobSuspended }))}, want{Required: 1, Busy: 1}},
		"a configuring job keeps its node busy":     {[]any{newPool("w"), worker("w1"), job(1, running("w1"), with(func(j *slurm.Job) { j.State.Flags = slurm.JobConfiguring }))}, want{Required: 1, Busy: 1}},
		"an idle worker is not required":            {[]any{newPool("w"), worker("w1")}, want{Idle: 1}},
		"a booting worker is not required":          {[]any{newPool("w"), worker("w1", state("IDLE+POWERING_UP"))}, want{Booting: 1}},
		"down and drained workers are not required": {[]any{newPool("w", replicas(2)), worker("w1", state("DOWN")), worker("w2", state("IDLE+DRAIN"))}, want{Unusable: 2}},
		"FUTURE records are off":                    {[]any{newPool("w"), worker("w1", state("FUTURE+DYNAMIC_NORM"))}, want{Off: 1}},

		"an active reservation makes its nodes busy":         {[]any{newPool("w"), worker("w1"), worker("w2"), worker("w3"), soon(-10, 10)}, want{Required: 2, Busy: 2, Idle: 1}},
		"a reservation within the lead makes its nodes busy": {[]any{newPool("w", hour), worker("w1"), worker("w2"), worker("w3"), soon(3600, 7200)}, want{Required: 2, Busy: 2, Idle: 1}},
		"a later reservation does not":                       {[]any{newPool("w", hour), worker("w1"), worker("w2"), soon(3601, 7200)}, want{Idle: 2}},
		"a past reservation does not":                        {[]any{newPool("w", hour), worker("w1"), worker("w2"), soon(-20, -10)}, want{Idle: 2}},
		"each pool has its own lead":                         {[]any{newPool("v", hour), newPool("w"), worker("w1"), soon(60, 70)}, want{Idle: 1}},
		"a down node of a reservation stays unusable":        {[]any{newPool("w", hour), worker("w1", state("DOWN")), soon(60, 70)}, want{Unusable: 1}},

		"an idle worker in its grace is required": {[]any{newPool("w", grace(time.Minute)), worker("w1", idleSince(59)), worker("w2", idleSince(60))}, want{Required: 1, Idle: 2, Grace: 1}},
		"without a grace no clock matters":        {[]any{newPool("w"), worker("w1", idleSince(-2))}, want{Idle: 1}},
		"a new worker has its grace":              {[]any{newPool("w", grace(time.Minute)), worker("w1", func(n *slurm.Node) { n.SlurmdStartTime = noon - 5 })}, want{Required: 1, Idle: 1, Grace: 1}},
		"an unknown idle time has no grace":       {[]any{newPool("w", grace(time.Minute)), worker("w1")}, want{Idle: 1}},
		"jobs take the nodes in their grace first": {
			[]any{newPool("w", grace(time.Minute)), worker("w1", idleSince(5)), worker("w2"),
				jobs(1, 4)}, want{Required: 1, Idle: 2, Grace: 1, Claimed: 1, Eligible: 4},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.nouns, partition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, wantOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAJobThatBeganAfterTheNodesWereRead uses a job list that is newer than the node list: the job
// is no longer pending, and its nodes look as if it had not started.
func TestAJobThatBeganAfterTheNodesWereRead(t *testing.T) {
	began := func(ago slurm.Time) any {
		return job(1, running("w[1-2]"), with(func(j *slurm.Job) { j.StartTime = noon - ago }))
	}
	for name, tt := range map[string]struct {
		nouns []any
		want  want
	}{
		"its nodes are busy although they look idle":              {[]any{worker("w1"), worker("w2"), worker("w3"), began(9)}, want{Required: 2, Busy: 2, Idle: 1}},
		"its nodes are busy although they look booting or FUTURE": {[]any{worker("w1", state("IDLE+POWERING_UP")), worker("w2", state("FUTURE")), began(9)}, want{Required: 2, Busy: 2}},
		"a difference of a second has no effect":                  {[]any{worker("w1"), worker("w2"), began(12)}, want{Required: 2, Busy: 2}},
		"nodes that were read later take precedence":              {[]any{worker("w1"), worker("w2"), began(13)}, want{Idle: 2}},
		"a job without a start time has no effect":                {[]any{worker("w1"), worker("w2"), began(noon)}, want{Idle: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := splitPools(t, append(tt.nouns, newPool("w"), partition("cpu"))...)
			s.Nodes.ReadAt = time.Unix(int64(noon-10), 0)
			p, _ := demand.Compute(time.Unix(int64(noon), 0), s, pools...).Pool("w")
			if diff := cmp.Diff(tt.want, wantOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestANodeThatGotWorkAfterTheJobsWereRead uses a node list that is newer than the job list: a job
// that is pending in one list can be what runs in the other.
func TestANodeThatGotWorkAfterTheJobsWereRead(t *testing.T) {
	const readBefore = 20 // seconds ago, when the nodes did not have the work
	full, half := worker("w1", state("ALLOCATED")), worker("w1", used(2, 0))
	for name, tt := range map[string]struct {
		was   *slurm.Node
		nouns []any
		want  want
	}{
		"the pending job can be what it runs":          {worker("w1"), []any{full, jobs(1, 4)}, want{Required: 1, Busy: 1, Eligible: 4}},
		"what does not fit on it requests more":        {worker("w1"), []any{full, jobs(1, 5)}, want{Required: 2, Busy: 1, Pending: 1, Eligible: 5}},
		"what does not fit on it takes an idle worker": {worker("w1"), []any{full, worker("w2"), worker("w3"), jobs(1, 5)}, want{Required: 2, Busy: 1, Idle: 2, Claimed: 1, Eligible: 5}},
		"it can be new":                                            {nil, []any{full, jobs(1, 4)}, want{Required: 1, Busy: 1, Eligible: 4}},
		"it can have been FUTURE":                                  {worker("w1", state("FUTURE")), []any{full, jobs(1, 4)}, want{Required: 1, Busy: 1, Eligible: 4}},
		"earlier work leaves less room":                            {half, []any{full, jobs(1, 4)}, want{Required: 2, Busy: 1, Pending: 1, Eligible: 4}},
		"an exclusive job can be what it runs":                     {worker("w1"), []any{full, jobs(1, 2, exclusive)}, want{Required: 2, Busy: 1, Pending: 1, Eligible: 2}},
		"a larger job cannot be what it runs":                      {worker("w1"), []any{full, job(1, nodes(2))}, want{Required: 2, Busy: 1, Pending: 1, Eligible: 1}},
		"nothing is pending":                                       {worker("w1"), []any{full}, want{Required: 1, Busy: 1}},
		"a job that the list shows there explains the work":        {worker("w1"), []any{full, jobs(1, 4), job(9, running("w1"), with(func(j *slurm.Job) { j.StartTime = noon - readBefore }))}, want{Required: 2, Busy: 1, Pending: 1, Eligible: 4}},
		"a job that started long before does not explain the work": {worker("w1"), []any{full, jobs(1, 4), job(9, running("w1"), with(func(j *slurm.Job) { j.StartTime = noon - readBefore - 3 }))}, want{Required: 1, Busy: 1, Eligible: 4}},
		"a drained node takes nothing":                             {worker("w1"), []any{worker("w1", state("IDLE+DRAIN")), jobs(1, 4)}, want{Required: 1, Unusable: 1, Pending: 1, Eligible: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := splitPools(t, append(tt.nouns, newPool("w"), partition("cpu"))...)
			at := func(ago slurm.Time) time.Time { return time.Unix(int64(noon-ago), 0) }
			s.Earlier = map[string]slurmclient.Earlier{"w1": {Node: tt.was, ReadAt: at(readBefore), SeenAt: at(1)}}
			p, _ := demand.Compute(at(0), s, pools...).Pool("w")
			if diff := cmp.Diff(tt.want, wantOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatJobsAskOfAPool(t *testing.T) {
	gpu := shaped(&demand.Shape{CPUs: 16, MemoryMiB: 64000, GRES: "gpu:h100:4"})
	tests := map[string]struct {
		nouns []any
		want  want
	}{
		"at zero nodes jobs share new workers": {[]any{newPool("w"), jobs(1, 9)}, want{Required: 3, Pending: 3, Eligible: 9}},
		"the reasons at zero nodes mean capacity": {[]any{newPool("w"), job(1, reason("PartitionConfig"), tasks(4)), job(2, reason("ReqNodeNotAvail"), tasks(4)), job(3, reason("None"), tasks(4), with(func(j *slurm.Job) {
			j.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
		}))}, want{Required: 3, Pending: 3, Eligible: 3}},
		"the node limit at zero nodes means capacity": {[]any{newPool("w"), job(1, nodes(2), reason("PartitionNodeLimit"), with(func(j *slurm.Job) {
			j.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
		}))}, want{Required: 2, Pending: 2, Eligible: 1}},
		"jobs that wait for other things request nothing":  {[]any{newPool("w"), job(1, held), job(2, reason("Licenses")), job(3, reason("QOSMaxCpuPerUserLimit")), job(4, with(func(j *slurm.Job) { j.Dependency = "afterok:9" })), job(5, with(func(j *slurm.Job) { j.EligibleTime = noon + 9 }))}, want{}},
		"idle workers that jobs will use stay":             {[]any{newPool("w"), worker("w1"), worker("w2"), jobs(1, 4)}, want{Required: 1, Idle: 2, Claimed: 1, Eligible: 4}},
		"booting workers that jobs will use stay":          {[]any{newPool("w"), worker("w1", state("IDLE+POWERING_UP")), worker("w2", state("IDLE+NOT_RESPONDING")), jobs(1, 5)}, want{Required: 2, Booting: 2, Claimed: 2, Eligible: 5}},
		"idle ones are used before booting ones":           {[]any{newPool("w", grace(time.Minute)), worker("w2", idleSince(1)), worker("w1", state("IDLE+POWERING_UP")), jobs(1, 4)}, want{Required: 1, Idle: 1, Booting: 1, Claimed: 1, Grace: 1, Eligible: 4}},
		"a booting worker that is the only fit stays":      {[]any{newPool("w", grace(time.Minute)), worker("w2", idleSince(1)), worker("w1", state("IDLE+POWERING_UP")), job(1, with(func(j *slurm.Job) { j.ExcludedNodes = "w2" }))}, want{Required: 2, Idle: 1, Booting: 1, Claimed: 1, Grace: 1, Eligible: 1}},
		"busy workers with room are used":                  {[]any{newPool("w"), worker("w1", used(2, 0)), jobs(1, 3)}, want{Required: 2, Busy: 1, Pending: 1, Eligible: 3}},
		"busy, claimed and new ones add up":                {[]any{newPool("w"), worker("w1", state("ALLOCATED")), worker("w2"), job(1, nodes(3))}, want{Required: 4, Busy: 1, Idle: 1, Claimed: 1, Pending: 2, Eligible: 1}},
		"-N 4 needs four":                                  {[]any{newPool("w"), job(1, nodes(4))}, want{Required: 4, Pending: 4, Eligible: 1}},
		"exclusive jobs do not share nodes":                {[]any{newPool("w"), jobs(1, 3, exclusive)}, want{Required: 3, Pending: 3, Eligible: 3}},
		"an array requests up to its throttle":             {[]any{newPool("w"), job(1, withArray(1, "1-20%4", 4), exclusive)}, want{Required: 4, Pending: 4, Eligible: 4}},
		"running tasks count in the throttle":              {[]any{newPool("w"), worker("w1", state("ALLOCATED")), job(1, withArray(1, "2-20%4", 4), exclusive), job(2, arrayTask(1, 1), running("w1"))}, want{Required: 4, Busy: 1, Pending: 3, Eligible: 3}},
		"het components all count":                         {[]any{newPool("w"), job(1, het(1, 0), tasks(4)), job(2, het(1, 1), nodes(2), tasks(8))}, want{Required: 3, Pending: 3, Eligible: 2}},
		"a het job with a held component requests nothing": {[]any{newPool("w"), job(1, het(1, 0)), job(2, het(1, 1), held)}, want{}},
		"memory is packed":                                 {[]any{newPool("w"), jobs(1, 3, with(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(5000) }))}, want{Required: 3, Pending: 3, Eligible: 3}},
		"GRES are packed":                                  {[]any{newPool("w", gpu), jobs(1, 5, with(func(j *slurm.Job) { j.TRESPerNode = "gres/gpu:2" }))}, want{Required: 3, Pending: 3, Eligible: 5}},
		"its own feature counts":                           {[]any{newPool("w"), job(1, withConstraint("w"))}, want{Required: 1, Pending: 1, Eligible: 1}},
		"the features of its shape count":                  {[]any{newPool("w", shaped(&demand.Shape{CPUs: 4, Features: []string{"x86"}})), job(1, withConstraint("w&x86"))}, want{Required: 1, Pending: 1, Eligible: 1}},
		"a missing named node is one worker":               {[]any{newPool("w"), jobs(1, 3, with(func(j *slurm.Job) { j.RequiredNodes = "w9" }))}, want{Required: 1, Pending: 1, Eligible: 3}},
		"an idle node that is named stays":                 {[]any{newPool("w"), worker("w1"), worker("w2"), jobs(1, 3, with(func(j *slurm.Job) { j.RequiredNodes = "w2" }))}, want{Required: 2, Idle: 2, Claimed: 1, Eligible: 3}},
		"an excluded idle node does not stay":              {[]any{newPool("w"), worker("w1"), job(1, with(func(j *slurm.Job) { j.ExcludedNodes = "w1" }))}, want{Required: 2, Idle: 1, Pending: 1, Eligible: 1}},
		"idle nodes outside the pool are used":             {[]any{newPool("w"), node("n1"), jobs(1, 8)}, want{Required: 1, Pending: 1, Eligible: 8}},
		"jobs of another partition do not count":           {[]any{newPool("w"), partition("b"), job(1, in("b"))}, want{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.nouns, partition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, wantOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
