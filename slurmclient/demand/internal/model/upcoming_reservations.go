package model

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// IndexReservations records, per partition, the start of the first future reservation of its nodes.
func (c *Cluster) IndexReservations(s *slurmclient.Snapshot, now slurm.Time) {
	begins := map[string]slurm.Time{}
	for _, r := range s.Reservations.Value {
		if r.StartTime <= now || r.StartTime >= r.EndTime {
			continue
		}
		for _, name := range expandHostlist(r.Nodes) {
			begins[name] = EarlierTime(begins[name], r.StartTime)
		}
	}
	if len(begins) == 0 {
		return
	}
	for _, n := range s.Nodes.Value {
		for _, name := range n.Partitions {
			if i, ok := c.partitionByName[name]; ok {
				c.Partitions[i].nextReservation = EarlierTime(c.Partitions[i].nextReservation, begins[n.Name])
			}
		}
	}
}

// OverlapsReservation reports whether the job, if started now, could still run when a reservation
// of nodes of its partitions starts. slurmctld does not start it on these nodes (slurm.conf(5),
// reservations and time limits).
func (c *Cluster) overlapsReservation(j *slurm.Job, now slurm.Time) bool {
	if j.Reservation() != "" {
		return false
	}
	for _, i := range c.PartitionsOf(j.Partition) {
		from := c.Partitions[i].nextReservation
		if !from.IsSet() {
			continue
		}
		limit, set := j.TimeLimit.Value()
		if !set || time.Duration(limit)*time.Minute > from.Sub(now) {
			return true
		}
	}
	return false
}
