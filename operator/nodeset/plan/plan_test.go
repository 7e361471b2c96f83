package plan

import (
	"testing"
	"time"
)

func TestSteps(t *testing.T) {
	protect := worker(0, func(w *Worker) { w.Note.Protect = true })
	for name, tc := range map[string]struct {
		input *scene
		want  []string
	}{
		"nothing is to do for a NodeSet at its count":                       {set(2, 2), nil},
		"missing workers are created at the lowest free ordinals":           {set(4, 2, worker(0, func(w *Worker) { w.Slot.Ordinal = 1 }), worker(1, func(w *Worker) { w.Slot.Ordinal = 3 })), []string{"create 0", "create 2"}},
		"none are made before Slurm has been read":                          {set(2, 0, func(s *scene) { s.observed.Slurm = Slurm{Connected: true} }), nil},
		"workers are created though Slurm does not answer":                  {set(3, 2, stale), []string{"create 2"}},
		"an ordinal that others have drained comes last":                    {set(1, 0, record(0, func(r *Record) { r.Drain = true })), []string{"create 1"}},
		"it is used where no other is left":                                 {set(1, 0, record(0, func(r *Record) { r.Drain = true }), func(s *scene) { *s.desired.Max = 1 }), []string{"create 0"}},
		"a deleted pod is waited for":                                       {set(2, 2, worker(1, func(w *Worker) { w.Going = noon.Add(-time.Second) })), nil},
		"a deleted pod that does not go is not waited for for ever":         {set(2, 2, worker(1, func(w *Worker) { w.Going = noon.Add(-time.Hour) })), []string{"create 2"}},
		"a pod whose containers ended is replaced":                          {set(2, 2, worker(1, func(w *Worker) { w.Finished = true })), []string{"delete n-1"}},
		"an idle worker is noted and drained first":                         {set(1, 2), []string{"annotate n-1 ScaleIn", "drain n-1"}},
		"a drained worker is deleted":                                       {set(1, 2, chosen(1, scaleIn), drained(1)), []string{"delete n-1"}},
		"one that never was scheduled needs no drain":                       {set(1, 2, worker(0, func(w *Worker) { w.KubeNode, w.Running, w.Ready = "", false, false }), func(s *scene) { delete(s.observed.Slurm.Records, "n-0") }), []string{"annotate n-0 ScaleIn", "delete n-0"}},
		"idle workers go before busy ones":                                  {set(1, 3, protect, job(0, 7, 0)), []string{"annotate n-1 ScaleIn", "annotate n-2 ScaleIn", "drain n-1", "drain n-2"}},
		"a drained worker with a job stays":                                 {set(0, 1, protect, chosen(0, scaleIn), drained(0), job(0, 7, 0)), nil},
		"a suspended job is a job":                                          {set(0, 1, protect, chosen(0, scaleIn), drained(0), job(0, 7, 0), record(0, func(r *Record) { r.Busy = false })), nil},
		"the choice stays though another has become idle":                   {set(1, 2, chosen(1, scaleIn), worker(1, func(w *Worker) { w.Note.Protect = true }), drained(1), job(1, 7, 0)), nil},
		"a choice that is not needed any more is taken back":                {set(2, 2, chosen(1, scaleIn), drained(1)), []string{"annotate n-1 ", "undrain n-1"}},
		"a drain of others is not taken back":                               {set(2, 2, record(1, func(r *Record) { r.Drain = true })), nil},
		"a drain of others is enough, and is not overwritten":               {set(1, 2, record(1, func(r *Record) { r.Drain = true }), func(s *scene) { s.observed.Slurm.DrainedSince["n-1"] = noon.Add(-time.Second) }), []string{"annotate n-1 ScaleIn", "delete n-1"}},
		"jobs must have been listed since the drain":                        {set(1, 2, chosen(1, scaleIn), drained(1), func(s *scene) { s.observed.Slurm.JobsReadAt = noon.Add(-2 * time.Minute) }), nil},
		"nothing is chosen or deleted on a stale reading":                   {set(1, 3, stale, chosen(1, scaleIn), drained(1)), nil},
		"nothing is deleted before the first reading":                       {set(1, 2, stale, func(s *scene) { s.observed.Slurm = Slurm{Connected: true} }, worker(1, func(w *Worker) { w.KubeNode = "" })), []string{"annotate n-1 ScaleIn"}},
		"a running worker that Slurm does not know stays":                   {set(0, 1, chosen(0, scaleIn), func(s *scene) { delete(s.observed.Slurm.Records, "n-0") }), nil},
		"an empty list of nodes deletes nothing":                            {set(0, 1, chosen(0, scaleIn), unstarted(0), func(s *scene) { s.observed.Slurm.Total = 0 }), nil},
		"one that did not register in time goes":                            {set(0, 1, chosen(0, scaleIn), unstarted(0)), []string{"delete n-0"}},
		"one that may still register stays":                                 {set(0, 1, chosen(0, scaleIn), unstarted(0), worker(0, func(w *Worker) { w.Created = noon.Add(-time.Minute) })), nil},
		"policy Force deletes at once":                                      {set(0, 1, protect, chosen(0, scaleIn), job(0, 7, 0), drained(0), func(s *scene) { s.desired.Policy.Force = true }), []string{"delete n-0"}},
		"policy Timeout deletes after it, even unseen":                      {set(0, 1, protect, chosen(0, scaleIn), stale, func(s *scene) { s.desired.Policy.Timeout = time.Minute }), []string{"delete n-0"}},
		"policy Timeout waits until it":                                     {set(0, 1, protect, chosen(0, scaleIn), job(0, 7, 0), drained(0), func(s *scene) { s.desired.Policy.Timeout = time.Hour }), nil},
		"a busy worker is protected until its job ends":                     {set(1, 1, job(0, 7, time.Hour)), []string{"annotate n-0 "}},
		"an idle one is protected too":                                      {set(1, 1, unprotected), []string{"annotate n-0 "}},
		"so is one that Slurm does not know yet":                            {set(1, 1, unprotected, unknown), []string{"annotate n-0 "}},
		"so is one while Slurm is not read":                                 {set(1, 1, unprotected, stale), []string{"annotate n-0 "}},
		"a cordoned one is until it is drained":                             {set(1, 1, cordon), []string{"drain n-0"}},
		"and while it has work":                                             {set(1, 1, cordon, drained(0), job(0, 7, 0)), nil},
		"and until jobs were listed since":                                  {set(1, 1, cordon, drained(0), func(s *scene) { s.observed.Slurm.JobsReadAt = noon.Add(-time.Hour) }), nil},
		"a reading that lacks its node does not unprotect it":               {set(1, 1, cordon, unknown), nil},
		"nor does one from before it was created":                           {set(1, 1, cordon, drained(0), worker(0, func(w *Worker) { w.Created = noon })), nil},
		"nor does one that is not fresh":                                    {set(1, 1, cordon, drained(0), stale), nil},
		"one that is uncordoned is protected before it is undrained":        {set(1, 1, unprotected, drained(0)), []string{"annotate n-0 ", "undrain n-0"}},
		"an administrator's DOWN or FAIL is not overwritten by a drain":     {set(0, 1, chosen(0, scaleIn), held(0)), []string{"add-drain n-0"}},
		"closed it goes like any other":                                     {set(0, 1, chosen(0, scaleIn), drained(0), held(0)), []string{"delete n-0"}},
		"it is not resumed":                                                 {set(1, 1, held(0)), nil},
		"nor when it is no longer to go":                                    {set(1, 1, chosen(0, scaleIn), drained(0), held(0)), []string{"annotate n-0 "}},
		"without a pod it is kept, and kept from returning by itself":       {set(0, 0, left(0), held(0), record(0, func(r *Record) { r.Drain = false }), func(s *scene) { *s.desired.Max, s.desired.Records = 1, true }), []string{"add-drain n-0"}},
		"closed it stays":                                                   {set(0, 0, left(0), held(0), func(s *scene) { *s.desired.Max, s.desired.Records = 1, true }), nil},
		"its ordinal comes last":                                            {set(1, 0, held(0), drained(0), record(0, func(r *Record) { r.Ours = false })), []string{"create 1"}},
		"it is closed before its worker comes back":                         {set(1, 0, held(0), func(s *scene) { *s.desired.Max = 1 }), []string{"add-drain n-0", "create 0"}},
		"a running worker that never registered is replaced":                {set(1, 1, strayed(0)), []string{"delete n-0"}},
		"not before its time":                                               {set(1, 1, strayed(0), worker(0, func(w *Worker) { w.RunningSince = noon.Add(-time.Minute) })), nil},
		"not by a reading from before its time":                             {set(1, 1, strayed(0), func(s *scene) { s.observed.Slurm.NodesReadAt = noon.Add(-time.Hour) }), nil},
		"not while a job is listed on it":                                   {set(1, 1, job(0, 7, 0), strayed(0)), nil},
		"not on a stale reading":                                            {set(1, 1, strayed(0), stale), nil},
		"one that Slurm does not know at all may have jobs and stays":       {set(1, 1, unknown), nil},
		"one that is to go and never registered goes":                       {set(0, 1, chosen(0, scaleIn), strayed(0)), []string{"delete n-0"}},
		"a worker whose node went down with the pod before is resumed":      {set(1, 1, record(0, func(r *Record) { r.Down, r.Ours = true, true })), []string{"resume n-0"}},
		"a cordoned worker is drained and stays":                            {set(1, 1, worker(0, func(w *Worker) { w.Cordon = "cordoned" })), []string{"drain n-0"}},
		"a cordoned worker that is drained stays drained":                   {set(1, 1, worker(0, func(w *Worker) { w.Cordon = "cordoned" }), drained(0)), []string{"annotate n-0 "}},
		"an outdated worker is drained":                                     {set(2, 2, outdated(0, 1)), []string{"annotate n-1 Update", "drain n-1"}},
		"the budget counts those that are out of service":                   {set(3, 3, outdated(0, 1), worker(2, func(w *Worker) { w.Ready = false })), nil},
		"one that is out of service anyway is replaced at no cost":          {set(2, 2, outdated(0, 1), worker(0, func(w *Worker) { w.Ready = false })), []string{"annotate n-0 Update", "drain n-0"}},
		"no reading chooses more than the budget":                           {set(4, 4, outdated(0, 1, 2, 3), silent), []string{"annotate n-3 Update", "drain n-3"}},
		"nor does one that lacks all nodes":                                 {set(3, 3, outdated(0, 1, 2), func(s *scene) { clear(s.observed.Slurm.Records) }), []string{"annotate n-2 Update"}},
		"what was chosen above it is given back":                            {set(3, 3, outdated(0, 1, 2), chosen(0, update), chosen(1, update), chosen(2, update), drained(0), drained(1), drained(2)), []string{"annotate n-0 ", "annotate n-1 ", "undrain n-0", "undrain n-1", "delete n-2"}},
		"workers in which nothing runs cost nothing":                        {set(3, 3, outdated(0, 1, 2), unstarted(0), unstarted(1)), []string{"annotate n-0 Update", "annotate n-1 Update", "delete n-1"}},
		"ordinals below the partition keep their revision":                  {set(2, 2, outdated(0, 1), func(s *scene) { s.desired.Update.Partition, s.desired.Update.MaxUnavailable = 1, 2 }), []string{"annotate n-1 Update", "drain n-1"}},
		"a pause takes updates under way back":                              {set(2, 2, outdated(0, 1), chosen(1, update), drained(1), func(s *scene) { s.desired.Update.Open = false }), []string{"annotate n-1 ", "undrain n-1"}},
		"updates do not begin on a stale reading":                           {set(2, 2, stale, outdated(0, 1)), nil},
		"deletion drains every worker":                                      {set(2, 2, deleting), []string{"annotate n-0 Deletion", "annotate n-1 Deletion", "drain n-0", "drain n-1"}},
		"deletion waits for jobs":                                           {set(1, 1, protect, deleting, chosen(0, deletion), drained(0), job(0, 7, 0)), nil},
		"FUTURE records are made for workers that may come":                 {set(1, 1, func(s *scene) { *s.desired.Max, s.desired.Records = 3, true }), []string{"create-records [n-1 n-2]"}},
		"none are made without a shape":                                     {set(1, 1, func(s *scene) { *s.desired.Max = 3 }), nil},
		"none are made on a stale reading":                                  {set(1, 1, stale, func(s *scene) { *s.desired.Max, s.desired.Records = 3, true }), nil},
		"the record of a deleted worker returns to FUTURE":                  {set(0, 0, left(0), func(s *scene) { *s.desired.Max, s.desired.Records = 1, true }), []string{"mark-future n-0"}},
		"it is deleted where no worker may come":                            {set(0, 0, left(0)), []string{"delete-record n-0"}},
		"a name is not taken of which is not known whose it is":             {set(1, 0, unclaimedRecord(0)), []string{"create 1"}},
		"nor one that an administrator drained":                             {set(1, 0, unclaimedRecord(0, func(r *Record) { r.Drain = true })), []string{"create 1"}},
		"a name is taken whose node is down":                                {set(1, 0, unclaimedRecord(0, func(r *Record) { r.Down = true })), []string{"create 0"}},
		"and one that we put out of service":                                {set(1, 0, unclaimedRecord(0, func(r *Record) { r.Drain, r.Ours = true, true })), []string{"create 0"}},
		"and one that slurm.conf has":                                       {set(1, 0, unclaimedRecord(0, func(r *Record) { r.Dynamic = false })), []string{"create 0"}},
		"the record of another NodeSet is left":                             {set(0, 0, left(0), record(0, func(r *Record) { r.Owner = "other" })), nil},
		"a node of slurm.conf is left":                                      {set(0, 0, left(0), record(0, func(r *Record) { r.Dynamic = false })), nil},
		"a record that others drained is left":                              {set(0, 0, left(0), record(0, func(r *Record) { r.Ours = false })), nil},
		"FUTURE records beyond the maximum are deleted":                     {set(0, 0, record(4, func(r *Record) { r.Future, r.Dynamic, r.Owner = true, true, "set" }), func(s *scene) { *s.desired.Max = 3 }), []string{"delete-record n-4"}},
		"an administrator's FUTURE record is left":                          {set(0, 0, record(4, func(r *Record) { r.Future, r.Dynamic = true, true })), nil},
		"a record without a pod is pruned when its Kubernetes node is gone": {set(0, 0, left(0), record(0, func(r *Record) { r.Drain, r.Ours, r.KubeNodeGone = false, false, true }), func(s *scene) { s.desired.Prune = true }), []string{"drain n-0"}},
		"and is left where nobody asked for that":                           {set(0, 0, left(0), record(0, func(r *Record) { r.Drain, r.Ours, r.KubeNodeGone = false, false, true })), nil},
	} {
		t.Run(name, func(t *testing.T) { expect(t, tc.input, tc.want...) })
	}
}

func unprotected(s *scene) { s.observed.Workers[0].Note.Protect = false }

func unknown(s *scene) { delete(s.observed.Slurm.Records, "n-0") }

func cordon(s *scene) { s.observed.Workers[0].Cordon = "cordoned" }

// held is a Slurm node that an administrator set DOWN.
func held(i int) func(*scene) {
	return record(i, func(r *Record) { r.Dynamic, r.Owner, r.Held, r.Down, r.Ours = true, "set", true, true, false })
}

// withUnknownOwner adds a Slurm node whose slurmd registered and whose comment names no owner.
func unclaimedRecord(i int, changes ...func(*Record)) func(*scene) {
	return func(s *scene) {
		for _, change := range append([]func(*Record){func(r *Record) { r.Dynamic = true }}, changes...) {
			record(i, change)(s)
		}
	}
}

// strayed is a worker whose slurmd runs and never took its FUTURE record over.
func strayed(i int) func(*scene) {
	return record(i, func(r *Record) { *r = Record{Name: r.Name, Future: true, Dynamic: true, Owner: "set"} })
}

// silent has no Slurm node respond.
func silent(s *scene) {
	for i := range s.observed.Workers {
		record(i, func(r *Record) { r.Down, r.Silent = true, true })(s)
	}
}

// outdated has workers of an old revision.
func outdated(ordinals ...int) func(*scene) {
	return func(s *scene) {
		for _, i := range ordinals {
			s.observed.Workers[i].Revision = "old"
		}
	}
}

// unstarted is a worker whose slurmd never started, so that Slurm does not know it.
func unstarted(i int) func(*scene) {
	return func(s *scene) {
		w := &s.observed.Workers[i]
		w.Running, w.Ready = false, false
		delete(s.observed.Slurm.Records, w.SlurmName)
		s.observed.Slurm.Total = 5
	}
}

// left is the record of a worker that is gone.
func left(i int) func(*scene) {
	return func(s *scene) {
		record(i, func(r *Record) { r.Dynamic, r.Owner = true, "set" })(s)
		drained(i)(s)
	}
}

func TestOrderOfScaleIn(t *testing.T) {
	down := func(s *scene) {
		s.observed.Workers[0].KubeNode, s.observed.Workers[0].Running, s.observed.Workers[0].Ready = "", false, false
		s.observed.Workers[2].Running, s.observed.Workers[2].Ready = false, false
		delete(s.observed.Slurm.Records, "n-0")
	}
	s := set(8, 8, down, job(1, 1, time.Hour), job(3, 3, 0), record(4, func(r *Record) { r.Down = true }),
		record(5, func(r *Record) { r.IdleSince = noon.Add(-2 * time.Hour) }), worker(6, func(w *Worker) { w.Cost = -1 }))
	// Not scheduled, not running, down, then idle by cost, idle for longest, highest
	// ordinal, then work that ends, work without a limit.
	want := []string{"n-0", "n-2", "n-4", "n-6", "n-5", "n-7", "n-1", "n-3"}
	var got []string
	for _, w := range s.observed.Slurm.sorted(sortedByName(s.observed.Workers)) {
		got = append(got, w.Pod)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the order is %v, not %v", got, want)
		}
	}
}

func TestTheBrakeHolds(t *testing.T) {
	s := set(0, 4, chosen(0, scaleIn), chosen(1, scaleIn), chosen(2, scaleIn), chosen(3, scaleIn), unstarted(0), unstarted(1), unstarted(2), unstarted(3))
	expect(t, s, "delete n-3")
	s.observed.Unregistered = []time.Time{noon.Add(-time.Minute)}
	actions := expect(t, s)
	if actions.Again != 9*time.Minute {
		t.Errorf("it looks again in %v, not when the brake lets go, in 9m", actions.Again)
	}
	s.observed.Unregistered = []time.Time{noon.Add(-11 * time.Minute)}
	expect(t, s, "delete n-3")
}

func TestWaitsSayWhatFor(t *testing.T) {
	actions := set(0, 1, worker(0, func(w *Worker) { w.Note.Protect = true }), chosen(0, scaleIn), drained(0), job(0, 17, time.Hour)).plan()
	want := Wait{Pod: "n-0", SlurmName: "n-0", Cause: scaleIn, Why: "job 17 is running on it", Job: 17, Jobs: 1, Until: noon.Add(time.Hour)}
	if len(actions.Waits) != 1 || actions.Waits[0] != want {
		t.Errorf("the waits are %+v, not %+v", actions.Waits, want)
	}
}

func TestDeletionEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		input *scene
		want  bool
	}{
		"when no pod and no record is left":              {set(0, 0, deleting), true},
		"not while there are pods":                       {set(0, 1, deleting), false},
		"not while there are records of ours":            {set(0, 0, deleting, left(0)), false},
		"with records that others drained":               {set(0, 0, deleting, left(0), record(0, func(r *Record) { r.Ours = false })), true},
		"not while Slurm does not answer":                {set(0, 0, deleting, stale), false},
		"when the Slurm cluster is gone":                 {set(0, 0, deleting, stale, func(s *scene) { s.observed.Slurm.Connected = false }), true},
		"when Slurm does not answer and policy is Force": {set(0, 0, deleting, stale, func(s *scene) { s.desired.Policy.Force = true }), true},
		"not for a NodeSet that is not being deleted":    {set(0, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.input.plan().Finished; got != tc.want {
				t.Errorf("finished is %v", got)
			}
		})
	}
}

func TestWorkersPerKubernetesNode(t *testing.T) {
	mode := func(nodes ...string) func(*scene) {
		return func(s *scene) {
			s.desired.PerKubeNode, s.desired.KubeNodes, s.desired.Max = true, nodes, nil
			for i := range s.observed.Workers {
				s.observed.Workers[i].Slot = Slot{Ordinal: NoOrdinal, KubeNode: s.observed.Workers[i].KubeNode}
			}
		}
	}
	t.Run("each has one", func(t *testing.T) { expect(t, set(0, 1, mode("k-n-0", "b", "a")), "create -1a", "create -1b") })
	t.Run("none has one in the name of another NodeSet's Slurm node", func(t *testing.T) {
		expect(t, set(0, 0, mode("k-n-0", "k-n-1"), of(0)), "create -1k-n-1")
	})
	t.Run("nor in that of one of which is not known whose it is", func(t *testing.T) {
		expect(t, set(0, 0, mode("k-n-0", "k-n-1"), unclaimedRecord(0)), "create -1k-n-1")
	})
	t.Run("a Slurm node that an administrator set DOWN is closed before its worker comes back", func(t *testing.T) {
		expect(t, set(0, 0, mode("k-n-0"), held(0)), "add-drain n-0", "create -1k-n-0")
	})
	t.Run("one on a node that should have none is drained", func(t *testing.T) {
		expect(t, set(0, 2, mode("k-n-0")), "annotate n-1 ScaleIn", "drain n-1")
	})
	renamed := func(i int, name string) func(*scene) {
		return func(s *scene) {
			on, before := s.observed.Workers[i].KubeNode, s.desired.SlurmNameOn
			s.desired.SlurmNameOn = func(kubeNode string) string {
				if kubeNode == on {
					return name
				}
				return before(kubeNode)
			}
		}
	}
	t.Run("one whose Kubernetes node names another Slurm node is replaced", func(t *testing.T) {
		expect(t, set(0, 1, mode("k-n-0"), renamed(0, "other")), "annotate n-0 Update", "drain n-0")
	})
	t.Run("not by a name that cannot be", func(t *testing.T) { expect(t, set(0, 1, mode("k-n-0"), renamed(0, ""))) })
	t.Run("not by the name of another worker", func(t *testing.T) {
		expect(t, set(0, 2, mode("k-n-0", "k-n-1"), renamed(0, "n-1")))
	})
	t.Run("not by the name of another NodeSet's Slurm node", func(t *testing.T) {
		expect(t, set(0, 1, mode("k-n-0"), renamed(0, "theirs"), func(s *scene) { s.observed.Slurm.Taken = map[string]string{"theirs": "another"} }))
	})
	t.Run("one that is wanted again is undrained", func(t *testing.T) {
		expect(t, set(0, 1, chosen(0, scaleIn), drained(0), mode("k-n-0")), "annotate n-0 ", "undrain n-0")
	})
}

func TestWhatKeepsAWorkerBesideWorkIsToldApart(t *testing.T) {
	for name, tc := range map[string]struct {
		input *scene
		want  Block
	}{
		"a drain takes its course":                 {set(0, 1, chosen(0, scaleIn)), NotBlocked},
		"work is waited for":                       {set(0, 1, chosen(0, scaleIn), drained(0), job(0, 7, 0)), NotBlocked},
		"there is no fresh reading":                {set(0, 1, chosen(0, scaleIn), stale), Unread},
		"Slurm does not know it though it runs":    {set(0, 1, chosen(0, scaleIn), unknown), Unregistered},
		"Slurm lists no nodes":                     {set(0, 1, chosen(0, scaleIn), unstarted(0), func(s *scene) { s.observed.Slurm.Total = 0 }), Unregistered},
		"the brake holds":                          {set(0, 1, chosen(0, scaleIn), unstarted(0), func(s *scene) { s.observed.Unregistered = []time.Time{noon} }), Unregistered},
		"it may still register, which is its time": {set(0, 1, chosen(0, scaleIn), unstarted(0), worker(0, func(w *Worker) { w.Created = noon })), NotBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			if waits := tc.input.plan().Waits; len(waits) != 1 || waits[0].Block != tc.want {
				t.Errorf("it waits as %+v", waits)
			}
		})
	}
}
