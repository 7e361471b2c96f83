package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestTheReservationFollowsTheSchedule(t *testing.T) {
	start := noon.Add(10 * time.Minute)
	have := &slurm.Reservation{StartTime: slurm.At(start), EndTime: slurm.At(start.Add(time.Hour)), Nodes: "gpu-[0-1]"}
	want := func(start time.Time, length time.Duration, nodes ...string) *slurm.ReservationRequest {
		return &slurm.ReservationRequest{StartTime: slurm.At(start), EndTime: slurm.At(start.Add(length)), Nodes: nodes}
	}
	for _, tc := range []struct {
		name     string
		now      time.Time
		have     *slurm.Reservation
		want     *slurm.ReservationRequest
		underWay bool
		step     reservationStep
	}{
		{"it is made", noon, nil, want(start, time.Hour, "gpu-0", "gpu-1"), false, setReservation},
		{"one that is right is left", noon, have, want(start, time.Hour, "gpu-1", "gpu-0"), false, leaveReservation},
		{"it moves with the start", noon, have, want(start.Add(time.Minute), time.Hour, "gpu-0", "gpu-1"), false,
			setReservation},
		{"it ends with the duration", noon, have, want(start, 2*time.Hour, "gpu-0", "gpu-1"), false, setReservation},
		{"it has the workers of now", noon, have, want(start, time.Hour, "gpu-0", "gpu-1", "gpu-2"), false,
			setReservation},
		{"one that has begun loses a node", start, have, want(start, time.Hour, "gpu-0"), false, setReservation},
		{"one that has begun is right", start.Add(time.Minute), have, want(start.Add(time.Minute), 59*time.Minute, "gpu-1", "gpu-0"),
			false, leaveReservation},
		{"one that has begun ends with the duration", start, have, want(start, 2*time.Hour, "gpu-0"), false,
			setReservation},
		{"one that has begun is ended when it is to begin later", start, have,
			want(start.Add(time.Hour), time.Hour, "gpu-0"), false, deleteReservation},
		{"it is ended when nothing is left to update", start, have, nil, false, deleteReservation},
		{"but not under a job", start, have, nil, true, leaveReservation},
		{"there is none and is to be none", noon, nil, nil, false, leaveReservation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := reservationStepOf(tc.now, tc.have, tc.want, tc.underWay); got != tc.step {
				t.Errorf("the step is %d", got)
			}
		})
	}
}

func TestTheReservationOfAScheduledUpdate(t *testing.T) {
	start := noon.Add(10 * time.Minute)
	scheduled := func(s *planInput) {
		s.desired.Namespace, s.desired.Name = "blue", "n"
		s.desired.ScheduledUpdate = &ScheduledUpdate{Start: start, End: start.Add(time.Hour),
			Flags: []string{"MAGNETIC"}}
		s.desired.Update.Allowed = false
		s.observed.Reservations.ReadAt = noon
	}
	outdated := withWorker(0, func(w *Worker) { w.Revision = "old" })
	reserved := func(name, nodes string) func(*planInput) {
		return func(s *planInput) {
			s.observed.Reservations.List = append(s.observed.Reservations.List, &slurm.Reservation{
				Name: name, Nodes: nodes, StartTime: slurm.At(start), EndTime: slurm.At(start.Add(time.Hour)),
			})
		}
	}
	const short, long = "SlurmOperatorMaint-n", "SlurmOperatorMaint-blue_n"
	taken := func(s *planInput) { s.observed.Slurm.OwnedByOthers = map[string]string{"n-7": "another"} }
	for _, tc := range []struct {
		name   string
		change []func(*planInput)
		want   string
	}{
		{"none without anything to update", nil, ""},
		{"it reserves the Slurm nodes of the outdated workers", []func(*planInput){outdated},
			"set " + short + " n-0 MAINT,IGNORE_JOBS,MAGNETIC"},
		{"it stays as it is", []func(*planInput){outdated, reserved(short, "n-0")}, ""},
		{"none for a worker that stays because others have its name", []func(*planInput){outdated, withMost(2), withReserved("n-0")}, ""},
		{"it loses the node of a worker that stays", []func(*planInput){outdated, withMost(2), withReserved("n-0"), withOldRevision(1),
			reserved(short, "n-[0-1]")}, "set " + short + " n-1 MAINT,IGNORE_JOBS,MAGNETIC"},
		{"it loses the node of a worker that is replaced", []func(*planInput){outdated, reserved(short, "n-[0-1]")},
			"set " + short + " n-0 MAINT,IGNORE_JOBS,MAGNETIC"},
		{"none while the NodeSet has a problem", []func(*planInput){outdated, func(s *planInput) { s.desired.Frozen, s.desired.Revision = true, "" }}, ""},
		{"it is left while the NodeSet has a problem", []func(*planInput){reserved(short, "n-[0-1]"),
			func(s *planInput) { s.desired.Frozen, s.desired.Revision = true, "" }}, ""},
		{"it is deleted when nothing is left to update", []func(*planInput){reserved(short, "n-[0-1]")},
			"delete " + short},
		{"so is one under the long name", []func(*planInput){reserved(long, "n-[0-1]")}, "delete " + long},
		{"that of a NodeSet of the same name elsewhere stays", []func(*planInput){reserved(short, "other-0")}, ""},
		{"next to it ours has the long name", []func(*planInput){outdated, reserved(short, "other-0")},
			"set " + long + " n-0 MAINT,IGNORE_JOBS,MAGNETIC"},
		{"none is deleted while others own Slurm nodes in it",
			[]func(*planInput){reserved(long, "n-[0-7]"), taken}, ""},
		{"it is deleted although others own other Slurm nodes with our names",
			[]func(*planInput){reserved(long, "n-[0-1]"), taken}, "delete " + long},
		{"it is deleted although another Slurm node has a comment of others",
			[]func(*planInput){reserved(short, "n-[0-1]"), withComment(7)}, "delete " + short},
		{"none is deleted while another Slurm cluster answers",
			[]func(*planInput){reserved(short, "n-[0-1]"), func(s *planInput) {
				s.desired.ClusterName, s.observed.Slurm.ClusterName = "blue", "green"
			}}, ""},
		{"nothing changes on a stale reading",
			[]func(*planInput){outdated, func(s *planInput) { s.observed.Slurm.Fresh = false }}, ""},
		{"nothing changes before a reading can show the last write", []func(*planInput){outdated, func(s *planInput) {
			s.observed.Reservations.WrittenAt = noon
		}}, ""},
		{"a later reading shows that the write was lost", []func(*planInput){outdated, func(s *planInput) {
			s.observed.Reservations.WrittenAt = noon.Add(-time.Second)
		}}, "set " + short + " n-0 MAINT,IGNORE_JOBS,MAGNETIC"},
		{"it is deleted with the NodeSet", []func(*planInput){outdated, reserved(short, "n-[0-1]"), func(s *planInput) {
			s.desired.Deleting, s.observed.Workers = true, nil
		}}, "delete " + short},
		{"it stays while a deleted NodeSet waits for its jobs",
			[]func(*planInput){reserved(short, "n-[0-1]"), func(s *planInput) {
				s.desired.Deleting = true
				s.observed.Slurm.Work["n-0"] = occupancy.Work{Jobs: 1}
			}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			switch change := newInput(2, 2, append([]func(*planInput){scheduled},
				tc.change...)...).runPlanner().Reservation; {
			case change.Set != nil:
				got = "set " + change.Set.Name + " " + strings.Join(change.Set.Nodes, ",") + " " + strings.Join(
					change.Set.Flags, ",")
			case change.Delete != "":
				got = "delete " + change.Delete
			}
			if got != tc.want {
				t.Errorf("it is %q, not %q", got, tc.want)
			}
		})
	}
}

// TestAReservationThatHasBegunIsExtendedWithoutAStart: slurmctld refuses any start for it, and with it the whole change
// (docs/development/slurm.md, "Reservations that have begun").
func TestAReservationThatHasBegunIsExtendedWithoutAStart(t *testing.T) {
	s := newInput(2, 2, withWorker(0, func(w *Worker) { w.Revision = "old" }), func(s *planInput) {
		s.desired.Namespace, s.desired.Name = "blue", "n"
		s.desired.ScheduledUpdate = &ScheduledUpdate{Start: noon.Add(-time.Minute), End: noon.Add(2 * time.Hour)}
		s.observed.Reservations.ReadAt = noon
		s.observed.Reservations.List = []*slurm.Reservation{{Name: "SlurmOperatorMaint-n", Nodes: "n-0",
			StartTime: slurm.At(noon.Add(-time.Minute)), EndTime: slurm.At(noon.Add(time.Hour))}}
	})
	if set := s.runPlanner().Reservation.Set; set == nil || set.StartTime.IsSet() || !set.EndTime.Time().Equal(noon.Add(2*time.Hour)) {
		t.Errorf("the change is %+v", set)
	}
}

// DaemonSet mode, within the window: the last outdated worker was n-1, which is gone. n-0's Kubernetes node no longer matches,
// and n-0 waits for a job of days. The reservation must release n-1, so that its record can get the new shape.
func TestTheReservationEndsWhileAWorkerOutsideItWaits(t *testing.T) {
	s := newInput(2, 2, func(s *planInput) {
		s.desired.PerKubeNode, s.desired.KubeNodes = true, []string{"k-n-1"}
		for i := range s.observed.Workers {
			w := &s.observed.Workers[i]
			w.Slot = Slot{Ordinal: NoOrdinal, KubeNode: "k-" + w.SlurmName}
			w.KubeNode = w.Slot.KubeNode
		}
		s.observed.Workers = s.observed.Workers[:1]
		s.observed.Slurm.Records["n-1"] = Record{Name: "n-1", Dynamic: true, OwnerUID: "set", Future: true, OtherShape: true, KubeNode: "k-n-1"}
		s.observed.Slurm.Work["n-0"] = occupancy.Work{Jobs: 1, LastJob: 7}
		s.observed.Slurm.References = map[string]string{"n-1": "reservation SlurmOperatorMaint-n"}
		s.desired.Namespace, s.desired.Name = "blue", "n"
		s.desired.ScheduledUpdate = &ScheduledUpdate{Start: noon.Add(-time.Minute), End: noon.Add(48 * time.Hour)}
		s.observed.Reservations.ReadAt = noon
		s.observed.Reservations.List = []*slurm.Reservation{{Name: "SlurmOperatorMaint-n", Nodes: "n-1",
			StartTime: slurm.At(noon.Add(-time.Minute)), EndTime: slurm.At(noon.Add(48 * time.Hour))}}
	})
	a := s.runPlanner()
	if a.Reservation.Set == nil && a.Reservation.Delete == "" {
		t.Errorf("the reservation stays as it is: %+v", a.Reservation)
	}
}
