package slurmtest

import (
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

type reservationBody struct {
	Name      string     `json:"name"`
	StartTime jsonNumber `json:"start_time"`
	EndTime   jsonNumber `json:"end_time"`
	Duration  jsonNumber `json:"duration"`
	Nodes     jsonWords  `json:"node_list"`
	NodeCount jsonNumber `json:"node_count"`
	Users     jsonWords  `json:"users"`
	Accounts  jsonWords  `json:"accounts"`
	Partition string     `json:"partition"`
	Licenses  jsonWords  `json:"licenses"`
	Flags     jsonWords  `json:"flags"`
}

func (b *reservationBody) request() slurm.ReservationRequest {
	return slurm.ReservationRequest{Name: b.Name, StartTime: slurm.Time(b.StartTime.Or(0)),
		EndTime:  slurm.Time(b.EndTime.Or(0)),
		Duration: b.Duration.Number, Nodes: b.Nodes, NodeCount: b.NodeCount.Number, Users: b.Users,
		Accounts:  b.Accounts,
		Partition: b.Partition, Licenses: strings.Join(b.Licenses, ","), Flags: b.Flags}
}

func (k *call) setOneReservation() {
	var b reservationBody
	if k.decodeBody(&b) {
		k.putReservations([]reservationBody{b})
	}
}

func (k *call) setReservations() {
	var q struct {
		Reservations []reservationBody `json:"reservations"`
	}
	if k.decodeBody(&q) {
		k.putReservations(q.Reservations)
	}
}

func (k *call) putReservations(list []reservationBody) {
	if !k.isAdmin() {
		k.refuse(2010, k.route.failure.description)
		return
	}
	k.mu.Lock()
	var r *Refusal
	for _, b := range list {
		for _, text := range b.Nodes {
			names, err := hostlist.Expand(text)
			for _, name := range names {
				if err == nil && name != "ALL" && k.nodeByName[name] == nil {
					r = newRefusal(2018)
				}
			}
		}
		if r == nil {
			k.Cluster.setReservation(b.request())
		}
	}
	k.mu.Unlock()
	k.answerOutcome(r, k.route.failure.description)
}

func (k *call) removeReservation() {
	if !k.isAdmin() {
		k.refuse(2010, k.route.failure.description)
		return
	}
	k.mu.Lock()
	found := k.deleteReservation(k.pathValue)
	k.mu.Unlock()
	if !found {
		k.refuse(2053, k.route.failure.description)
		return
	}
	k.answerDone()
}
