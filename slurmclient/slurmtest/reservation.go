package slurmtest

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

type reservation struct {
	copyOnWrite[slurm.Reservation]
	nodes []*node
	// active means that the model has marked the nodes as reserved.
	active bool
	// dueAt is when its state changes next.
	dueAt slurm.Time
}

func (c *Cluster) reservation(name string) *reservation {
	for _, r := range c.reservations {
		if r.view().Name == name {
			return r
		}
	}
	return nil
}

// allows reports whether the job may use the reservation's nodes.
func (r *reservation) allows(j *job) bool {
	v := r.view()
	if j.view().Reservation != v.Name {
		return false
	}
	return isListed(v.Users, j.view().UserName) || isListed(v.Accounts, j.view().Account)
}

func isListed(list, name string) bool {
	return list != "" && slices.Contains(strings.Split(list, ","), name)
}

// SetReservation creates a reservation or replaces the one with the same name. It ignores nodes
// that do not exist.
func (c *Cluster) SetReservation(r slurm.ReservationRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setReservation(r)
}

func (c *Cluster) setReservation(q slurm.ReservationRequest) {
	c.deleteReservation(q.Name)
	r := &reservation{}
	v := r.edit(c.generation)
	v.Name, v.StartTime, v.EndTime = q.Name, q.StartTime, q.EndTime
	if v.StartTime == 0 {
		v.StartTime = c.now
	}
	if v.EndTime == 0 {
		v.EndTime = v.StartTime + slurm.Time(60*q.Duration.Or(365*24*60))
	}
	v.Users, v.Accounts = strings.Join(q.Users, ","), strings.Join(q.Accounts, ",")
	v.Partition, v.Licenses = q.Partition, q.Licenses
	v.Flags = append(slices.Clone(q.Flags), "SPEC_NODES")
	c.fillReservation(r, q)
	c.reservations = append(c.reservations, r)
	c.changedAt.reservations = c.now
	c.moveReservations()
}

func (c *Cluster) fillReservation(r *reservation, q slurm.ReservationRequest) {
	v := r.edit(c.generation)
	for _, name := range q.Nodes {
		if name == "ALL" {
			r.nodes = slices.Clone(c.nodes)
			break
		}
		names, _ := hostlist.Expand(name)
		for _, one := range names {
			if n := c.nodeByName[one]; n != nil {
				r.nodes = append(r.nodes, n)
			}
		}
	}
	if len(q.Nodes) == 0 {
		count := int(q.NodeCount.Or(0))
		for _, n := range c.nodes {
			if len(r.nodes) < count && n.usable() && n.reservation == nil {
				r.nodes = append(r.nodes, n)
			}
		}
	}
	var names []string
	for _, n := range r.nodes {
		names = append(names, n.name)
		v.CoreCount += n.sockets * n.cores
	}
	v.Nodes, v.NodeCount = hostlist.Compress(names), uint32(len(names))
	if v.CoreCount > 0 {
		v.TRES = tresCounts{cpus: uint64(v.CoreCount)}.String()
	}
}

// DeleteReservation removes a reservation; it does nothing if there is none.
func (c *Cluster) DeleteReservation(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleteReservation(name)
}

func (c *Cluster) deleteReservation(name string) bool {
	r := c.reservation(name)
	if r == nil {
		return false
	}
	c.markReservation(r, false)
	c.reservations = slices.DeleteFunc(c.reservations, func(x *reservation) bool { return x == r })
	c.changedAt.reservations = c.now
	return true
}

// moveReservations starts and ends the reservations that are due.
func (c *Cluster) moveReservations() {
	for _, r := range slices.Clone(c.reservations) {
		if now := r.view().Active(c.now); now != r.active {
			c.markReservation(r, now)
		}
		if r.view().EndTime <= c.now {
			c.deleteReservation(r.view().Name)
			continue
		}
		due := r.view().EndTime
		if !r.active {
			due = r.view().StartTime
		}
		if due != r.dueAt {
			r.dueAt = due
			c.events.add(due, event{})
		}
	}
}

func (c *Cluster) markReservation(r *reservation, active bool) {
	r.active = active
	c.needsScheduling = true
	c.changedAt.reservations = c.now
	for _, n := range r.nodes {
		switch {
		case active && n.reservation == nil:
			n.reservation = r
		case !active && n.reservation == r:
			n.reservation = nil
		default:
			continue
		}
		c.updateNodeRecord(n)
	}
}
