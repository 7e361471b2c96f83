package slurmctld

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/copyonwrite"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/format"
)

type reservation struct {
	copyonwrite.Record[slurm.Reservation]
	nodes []*node
	// active is whether the model has marked the nodes as reserved.
	active bool
	// dueAt is when its state changes next.
	dueAt slurm.Time
}

func (c *Cluster) reservation(name string) *reservation {
	for _, r := range c.reservations {
		if r.View().Name == name {
			return r
		}
	}
	return nil
}

// allows reports whether the job may use the reservation's nodes.
func (r *reservation) allows(j *job) bool {
	v := r.View()
	if j.View().Reservation != v.Name {
		return false
	}
	return isListed(v.Users, j.View().UserName) || isListed(v.Accounts, j.View().Account)
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
	v := r.Edit(c.generation)
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
	c.changedAt.Reservations = c.now
	c.moveReservations()
}

func (c *Cluster) fillReservation(r *reservation, q slurm.ReservationRequest) {
	v := r.Edit(c.generation)
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
		v.TRES = format.TRES{CPUs: uint64(v.CoreCount)}.String()
	}
}

// SetReservations creates or replaces reservations. It stops at the first that names a node that does
// not exist. It returns nil on success.
func (c *Cluster) SetReservations(list []slurm.ReservationRequest) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range list {
		if !c.hasNodes(r.Nodes) {
			return newRefusal(2018)
		}
		c.setReservation(r)
	}
	return nil
}

// hasNodes reports whether all nodes of the hostlists exist.
func (c *Cluster) hasNodes(lists []string) bool {
	for _, text := range lists {
		names, err := hostlist.Expand(text)
		for _, name := range names {
			if err == nil && name != "ALL" && c.nodeByName[name] == nil {
				return false
			}
		}
	}
	return true
}

// DeleteReservation removes a reservation and reports whether it existed.
func (c *Cluster) DeleteReservation(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deleteReservation(name)
}

func (c *Cluster) deleteReservation(name string) bool {
	r := c.reservation(name)
	if r == nil {
		return false
	}
	c.markReservation(r, false)
	c.reservations = slices.DeleteFunc(c.reservations, func(x *reservation) bool { return x == r })
	c.changedAt.Reservations = c.now
	return true
}

// moveReservations starts and ends the reservations that are due.
func (c *Cluster) moveReservations() {
	for _, r := range slices.Clone(c.reservations) {
		if now := r.View().Active(c.now); now != r.active {
			c.markReservation(r, now)
		}
		if r.View().EndTime <= c.now {
			c.deleteReservation(r.View().Name)
			continue
		}
		due := r.View().EndTime
		if !r.active {
			due = r.View().StartTime
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
	c.changedAt.Reservations = c.now
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
