package plan

import (
	"testing"
	"time"
)

// withReboot has slurmctld ask for the reboot of a worker that has no job.
func withReboot(i int, before time.Duration) func(*planInput) {
	return withRecord(i, func(r *Record) {
		r.Dynamic, r.OwnerUID, r.Down, r.Drain, r.Rebooting = true, "set", true, true, true
		r.Fault, r.FaultAt = "reboot: kernel : reboot issued", noon.Add(-before)
	})
}

func TestReboots(t *testing.T) {
	records := func(s *planInput) { s.desired.CanCreateRecords, *s.desired.MaxWorkers = true, 2 }
	stays := withRecord(0, func(r *Record) { r.Fault = "" }) // drained before, or nextstate=down
	for name, tc := range map[string]struct {
		input *planInput
		want  []string
	}{
		"the pod is replaced": {newInput(1, 1, withReboot(0, time.Second)), []string{"annotate n-0 Reboot", "delete n-0"}},
		"a job that is suspended keeps it": {newInput(1, 1, withReboot(0, time.Second), withJob(0, 7, 0),
			withRecord(0, func(r *Record) { r.Busy = false })), []string{"annotate n-0 Reboot"}},
		"it is replaced although the budget is used up": {newInput(2, 2, withReboot(0, time.Second),
			withRecord(1, func(r *Record) { r.Down = true })), []string{"annotate n-0 Reboot", "delete n-0"}},
		"a stale reading replaces nothing": {newInput(1, 1, withReboot(0, time.Second), withStaleReading), nil},
		"the new pod gets the same ordinal and a clean record": {newInput(1, 0, records, withReboot(0, time.Minute),
			withRecord(1, func(r *Record) { r.Future, r.Dynamic, r.OwnerUID = true, true, "set" })),
			[]string{"mark-future n-0", "create 0"}},
		"the node of a new pod is resumed":  {newInput(1, 1, withReboot(0, 2*time.Hour)), []string{"resume n-0"}},
		"a node that is to stay out is not": {newInput(1, 1, withReboot(0, 2*time.Hour), stays), nil},
		"its pod is replaced as well":       {newInput(1, 1, withReboot(0, time.Second), stays), []string{"annotate n-0 Reboot", "delete n-0"}},
		"a reboot that slurmctld waits with keeps the pod": {newInput(1, 1, withJob(0, 7, 0), withRecord(0, func(r *Record) {
			r.Drain, r.Fault = true, "" // MIXED+DRAIN+REBOOT_REQUESTED
		})), nil},
		"the reboot of one worker leaves the busy others alone": {newInput(3, 3, withReboot(1, time.Second), withJob(0, 7, 0),
			withJob(2, 8, 0)), []string{"annotate n-1 Reboot", "delete n-1"}},
		"a reboot of an unwanted worker is none": {newInput(0, 1, withReboot(0, time.Second)), []string{"annotate n-0 ScaleIn", "delete n-0"}},
	} {
		t.Run(name, func(t *testing.T) { expectSteps(t, tc.input, tc.want...) })
	}
}
