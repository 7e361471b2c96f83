package delta

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestCheaperMethod(t *testing.T) {
	held := func(tasks uint64) *slurm.Stats { return &slurm.Stats{JobsPending: tasks} }
	waiting := func(tasks, records uint64) *slurm.Stats {
		s := held(tasks)
		s.Main.QueueLength = records
		return s
	}
	known := func(n int) (jobs []*slurm.Job) {
		for i := range n {
			jobs = append(jobs, jobIn(uint32(i+1), "PENDING"))
		}
		return jobs
	}
	for name, c := range map[string]struct {
		known []*slurm.Job
		stats *slurm.Stats
		want  method
	}{
		"an empty queue by either":                                {nil, held(0), byStates},
		"a few hundred jobs by states":                            {nil, waiting(300, 300), byStates},
		"an array of some thousand tasks by states":               {nil, held(10_000), byStates},
		"an unknown large array by the list":                      {nil, held(100_000), byList},
		"an unknown large array that the gauges do not count yet": {nil, &slurm.Stats{JobsSubmitted: 100_000}, byList},
		"a large array besides hundreds of jobs by the list":      {nil, waiting(100_000, 500), byList},
		"many separate jobs by states":                            {nil, waiting(100_000, 100_000), byStates},
		"many running jobs by states":                             {nil, &slurm.Stats{JobsRunning: 60_000}, byStates},
		"a known large array by the list": {[]*slurm.Job{jobIn(5, "PENDING",
			arrayBase("1-100000"))}, held(0), byList},
		"many known separate jobs by states": {known(maxListedRecords + 1), held(100_000),
			byStates},
		"a large array besides more records than a list may have": {append(known(maxListedRecords),
			jobIn(90_000, "PENDING", arrayBase("1-100000"))), held(0), byStates},
		"jobs that have ended do not count": {nil,
			&slurm.Stats{JobsSubmitted: 100_000, JobsCompleted: 99_990, JobsPending: 10}, byStates},
		"known jobs count after the counters were reset": {[]*slurm.Job{jobIn(5, "PENDING",
			arrayBase("1-100000"))}, &slurm.Stats{JobsCompleted: 7}, byList},
	} {
		if got := queueSizeOf(c.known, c.stats).cheaperMethod(len(c.known), leastRecordTime, 0); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestADistantServerIsAskedForAList: reading each record takes longer there.
func TestADistantServerIsAskedForAList(t *testing.T) {
	queue := queueSize{records: 5000, tasks: 5000}
	near, far := inFlight{limit: 6, shortest: 2 * time.Millisecond}, newInFlight()
	for _, c := range []struct {
		known      int
		recordTime time.Duration
		want       method
	}{
		{0, near.recordTime(time.Millisecond), byStates},
		{0, far.recordTime(21 * time.Millisecond), byList},
		{5000, far.recordTime(21 * time.Millisecond), byStates},
	} {
		if got := queue.cheaperMethod(c.known, c.recordTime, 0); got != c.want {
			t.Errorf("of %d known records, at %v for each: %s", c.known, c.recordTime, got)
		}
	}
}

func TestManyJobsAreFoundByTheirIDs(t *testing.T) {
	separate := queueSize{records: 100_000, tasks: 100_000}
	for name, c := range map[string]struct {
		queue queueSize
		top   uint32
		want  method
	}{
		"an unknown largest id":                {separate, 0, byStates},
		"ids of jobs that exist":               {separate, 100_001, byIDs},
		"a million ids":                        {separate, 1_000_000, byIDs},
		"ten million ids":                      {separate, 10_000_000, byStates},
		"few jobs":                             {queueSize{1000, 1000}, 1001, byStates},
		"an array besides too many for a list": {queueSize{30_000, 130_000}, 100_000, byIDs},
		"nothing but a large array":            {queueSize{1, 100_000}, 100, byList},
	} {
		if got := c.queue.cheaperMethod(0, leastRecordTime, c.top); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestManyHeldJobsAreNotListed: slurmctld's counters do not distinguish held jobs from the tasks of an array.
func TestManyHeldJobsAreNotListed(t *testing.T) {
	held := newJobTable(30_000)
	array := newJobTable(0)
	array.jobs[500] = jobIn(500, "PENDING", arrayBase("1-30000"))
	array.stats.JobsPending = 30_000
	for name, c := range map[string]struct {
		table *jobTable
		next  uint32 // 0 for unknown
		want  method
	}{
		"jobs, the next id is unknown":          {held, 0, byStates},
		"jobs":                                  {held, 30_001, byIDs},
		"an array, the next id is unknown":      {array, 0, byList},
		"an array":                              {array, 900_000, byList},
		"an array of a cluster with few jobs":   {array, 501, byList},
		"jobs of a cluster with many jobs once": {held, 900_000, byStates},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.table.newReader()
			by, err := r.readFull(t.Context(), newPoll(nil), &c.table.stats, 0, c.next)
			refused := by == byList // the table has no list
			if by != c.want || refused != (err != nil) {
				t.Errorf("%s, %v, want %s", by, err, c.want)
			}
		})
	}
}

// expandingTable is a jobTable whose slurmrestd exceeds the timeout for the id of a large array.
type expandingTable struct {
	*jobTable
	array uint32
	// lists is how often the list was requested.
	lists int
}

func (t *expandingTable) JobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	if slices.Contains(ids, strconv.Itoa(int(t.array))) {
		return nil, errors.New("no answer within the request timeout")
	}
	return t.jobTable.JobStates(ctx, ids)
}

func (t *expandingTable) EachJob(_ context.Context, yield func(*slurm.Job) error) error {
	t.lists++
	return yield(new(*t.jobs[t.array]))
}

// TestALargeArrayBesideManyJobsIsRead: the states of all its tasks are in the answer for its id.
func TestALargeArrayBesideManyJobsIsRead(t *testing.T) {
	table := &expandingTable{jobTable: newJobTable(30_000), array: 3001}
	table.jobs[3001] = jobIn(3001, "PENDING", arrayBase("1-100000"))
	r := NewReader(table, nil, nil)
	p := newPoll(nil)
	if err := r.readStatesOfIDs(t.Context(), p, &slurm.Stats{}, 30_001); err != nil || !p.wantedIDs[3001] {
		t.Errorf("the array is found: %v, %v", p.wantedIDs[3001], err)
	}
}

// TestALargeArrayAmongTheSampleIsRead: the answer for its id has a row for each task.
func TestALargeArrayAmongTheSampleIsRead(t *testing.T) {
	table := &expandingTable{jobTable: newJobTable(0), array: 3000}
	table.jobs[3000] = jobIn(3000, "PENDING", arrayBase("1-100000"))
	table.stats.JobsPending, table.nextID = 100_000, 50_000
	r := NewReader(table, func() time.Time { return time.Unix(5000, 0) }, func(int, int) {})
	var errs []error
	for range 3 {
		got, err := r.Read(t.Context(), nil, time.Time{})
		if err == nil && len(got.Jobs) == 1 && table.lists == 1 {
			return
		}
		errs = append(errs, err)
	}
	t.Errorf("after three polls: %v", errs)
}

func TestAlternatives(t *testing.T) {
	few, many := queueSize{1000, 1000}, queueSize{maxListedRecords + 1, 100_000}
	for _, c := range []struct {
		size queueSize
		m    method
		top  uint32
		want method
	}{
		{few, byStates, 0, byList}, {few, byStates, 1001, byList}, {few, byList, 0, byStates}, {few, byIDs, 1001, byStates},
		{many, byStates, 0, byStates}, {many, byStates, 100_001, byIDs}, {many, byIDs, 100_001, byStates},
	} {
		if got := c.size.alternative(c.m, c.top); got != c.want {
			t.Errorf("%+v of %d ids: after %s comes %s, want %s", c.size, c.top, c.m, got, c.want)
		}
	}
}

func TestTheLargestIDThatAJobMayHave(t *testing.T) {
	for name, c := range map[string]struct {
		next  uint32
		known []*slurm.Job
		want  uint32
	}{
		"nothing is known":             {0, nil, 0},
		"the next id is unknown":       {0, []*slurm.Job{jobIn(5, "PENDING")}, 0},
		"no job is known":              {9, nil, 9},
		"the next one of a federation": {1<<26 | 77, nil, 0},
		"all jobs have smaller ids":    {9, []*slurm.Job{jobIn(5, "PENDING")}, 9},
		"the ids have started over":    {9, []*slurm.Job{jobIn(5, "PENDING"), jobIn(maxJobID, "PENDING")}, maxJobID},
		"a federation":                 {9, []*slurm.Job{jobIn(5, "PENDING"), jobIn(1<<27, "PENDING")}, 0},
	} {
		if got := topID(c.next, c.known); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got, want := haveIDsStartedOver(c.next, c.known), name == "the ids have started over"; got != want {
			t.Errorf("%s: the ids have started over: %v", name, got)
		}
	}
}

func TestAFullReadingFindsJobsByTheirIDs(t *testing.T) {
	for name, c := range map[string]struct {
		beyond  uint32 // the id of a job beyond the next id, 0 without one
		counted uint64 // how many jobs slurmctld counts
		want    []uint32
		all     int // how often the states of all jobs are read
	}{
		"all jobs":                  {0, 2, []uint32{7, 90_000}, 0},
		"a job that has just come":  {idsPerBlock*6 + 5, 2, []uint32{7, 90_000, idsPerBlock*6 + 5}, 0},
		"jobs that have larger ids": {1 << 27, 3, []uint32{7, 90_000, 1 << 27}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			table := newJobTable(0)
			for _, id := range []uint32{7, 90_000, c.beyond} {
				if id > 0 {
					table.jobs[id] = jobIn(id, "PENDING")
				}
			}
			table.idsPerRequest = 1000
			p := newPoll(nil)
			stats := &slurm.Stats{JobsPending: c.counted}
			if err := table.newReader().readStatesOfIDs(t.Context(), p, stats, 90_001); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, p.wantedRecords()); diff != "" || table.readAll != c.all {
				t.Errorf("after %d readings of all states: %s", table.readAll, diff)
			}
		})
	}
}

func TestMayLackJobs(t *testing.T) {
	before := &slurm.Stats{JobsPending: 900, JobsRunning: 100, JobsSubmitted: 5000, JobsCompleted: 4000}
	for name, c := range map[string]struct {
		found uint64
		after slurm.Stats
		want  bool
	}{
		"all were found":                         {1000, *before, false},
		"more were found":                        {1010, slurm.Stats{JobsSubmitted: 5010, JobsCompleted: 4000}, false},
		"one is missing, and nothing happened":   {999, *before, true},
		"two are missing, and one has ended":     {998, slurm.Stats{JobsSubmitted: 5000, JobsCompleted: 4001}, false},
		"three are missing, and one has ended":   {997, slurm.Stats{JobsSubmitted: 5000, JobsCompleted: 4001}, true},
		"a tenth is missing, and many ended":     {900, slurm.Stats{JobsSubmitted: 5000, JobsCompleted: 4900}, false},
		"more is missing, and many ended":        {899, slurm.Stats{JobsSubmitted: 5000, JobsCompleted: 4900}, true},
		"some were cancelled, others failed":     {996, slurm.Stats{JobsSubmitted: 5000, JobsCompleted: 4000, JobsCanceled: 1, JobsFailed: 1}, false},
		"one is missing, and counters restarted": {999, slurm.Stats{JobsSubmitted: 10, JobsCompleted: 4000}, true},
	} {
		if got := mayLackJobs(c.found, 1000, before, &c.after); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestJobsOfALostStateAreNotKnown: slurmctld starts without its state, and gives the same ids to other jobs.
func TestJobsOfALostStateAreNotKnown(t *testing.T) {
	run := func(table *jobTable, name string) {
		for _, j := range table.jobs {
			j.Name, j.State = name, slurm.ParseJobState("RUNNING")
		}
	}
	table := newJobTable(500)
	table.nextID = 501
	run(table, "former")
	reader := table.newReader()
	first, err := reader.Read(t.Context(), nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for id := uint32(301); id <= 500; id++ {
		delete(table.jobs, id)
	}
	for id, j := range table.jobs {
		table.jobs[id] = new(*j)
	}
	run(table, "new")
	table.nextID, table.stats.Since = 301, 2
	got, err := reader.Read(t.Context(), first.Jobs, time.Unix(5000, 0))
	if err != nil || len(got.Jobs) != 300 {
		t.Fatalf("%d jobs: %v", len(got.Jobs), err)
	}
	for _, j := range got.Jobs {
		if j.Name != "new" {
			t.Fatalf("job %d is %s", j.ID, j.Name)
		}
	}
}

// TestJobsThatEndedBeforeAReadingAreNotMissing: slurmctld's gauges are up to half a minute old, so they still count such jobs.
func TestJobsThatEndedBeforeAReadingAreNotMissing(t *testing.T) {
	for name, c := range map[string]struct {
		last *slurm.Stats // of the poll before
		all  int          // how often the states of all jobs are read
	}{
		"they ended after the last poll":       {&slurm.Stats{Since: 1, JobsCompleted: 10}, 0},
		"they ended before the last poll":      {&slurm.Stats{Since: 1, JobsCompleted: 40}, 1},
		"the counters have started over since": {&slurm.Stats{Since: 0, JobsCompleted: 90}, 1},
		"there was no poll":                    {nil, 1},
		"slurmctld has started again since":    {&slurm.Stats{Since: 5, JobsCompleted: 10}, 1},
	} {
		table := newJobTable(970)
		r := table.newReader()
		r.stats = c.last
		table.stats = slurm.Stats{Since: 1, JobsPending: 1000, JobsCompleted: 40} // 30 of the thousand have ended
		if err := r.readStatesOfIDs(t.Context(), newPoll(nil), new(table.stats), 1001); err != nil || table.readAll != c.all {
			t.Errorf("%s: the states of all jobs are read %d times, want %d: %v", name, table.readAll, c.all, err)
		}
	}
}

func TestCostEstimatesMatchMeasurements(t *testing.T) {
	for name, c := range map[string]struct{ got, least, most time.Duration }{
		"20,000 states":   {statesCost(20_000), time.Second, 2 * time.Second},
		"50,000 states":   {statesCost(50_000), 12 * time.Second, 18 * time.Second},
		"100,000 states":  {statesCost(100_000), 115 * time.Second, 197 * time.Second},
		"4,000 records":   {listCost(4000), 1500 * time.Millisecond, 3 * time.Second},
		"20,000 records":  {listCost(20_000), 25 * time.Second, 37 * time.Second},
		"a single record": {listCost(1), 0, time.Millisecond},
	} {
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s: %v, measured %v to %v", name, c.got, c.least, c.most)
		}
	}
}

func TestSubmittedAs(t *testing.T) {
	p := newPoll([]*slurm.Job{jobIn(5, "PENDING", arrayBase("3-9"))})
	p.addRecords(5, []*slurm.Job{jobIn(5, "PENDING", arrayBase("3-9")), jobIn(10, "RUNNING", taskOf(5, 1))})
	p.addRecords(11, []*slurm.Job{jobIn(11, "PENDING", arrayBase("0-99999"))})
	p.addRecords(12, []*slurm.Job{jobIn(12, "PENDING")})
	for id, want := range map[uint32]uint64{10: 0, 11: 100_000, 12: 1} {
		if !p.markArrived(id) || !p.fresh[id] {
			t.Errorf("job %d is not marked as new", id)
		}
		if got := p.submittedAs(id); got != want {
			t.Errorf("job %d counts as %d submitted tasks, want %d", id, got, want)
		}
	}
	p.markGone(13)
	if p.markArrived(13) || p.hasRead(13) {
		t.Error("an id without a job would not be read again")
	}
}
