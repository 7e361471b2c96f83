package slurmtest

import (
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

type reservationBody struct {
	Name      string `json:"name"`
	Start     number `json:"start_time"`
	End       number `json:"end_time"`
	Duration  number `json:"duration"`
	Nodes     words  `json:"node_list"`
	NodeCount number `json:"node_count"`
	Users     words  `json:"users"`
	Accounts  words  `json:"accounts"`
	Partition string `json:"partition"`
	Licenses  words  `json:"licenses"`
	Flags     words  `json:"flags"`
}

func (b *reservationBody) request() slurm.ReservationRequest {
	return slurm.ReservationRequest{Name: b.Name, StartTime: slurm.Time(b.Start.Or(0)), EndTime: slurm.Time(b.End.Or(0)),
		Duration: b.Duration.Number, Nodes: b.Nodes, NodeCount: b.NodeCount.Number, Users: b.Users, Accounts: b.Accounts,
		Partition: b.Partition, Licenses: strings.Join(b.Licenses, ","), Flags: b.Flags}
}

func (k *call) setOneReservation() {
	var b reservationBody
	if k.body(&b) {
		k.putReservations([]reservationBody{b})
	}
}

func (k *call) setReservations() {
	var q struct {
		Reservations []reservationBody `json:"reservations"`
	}
	if k.body(&q) {
		k.putReservations(q.Reservations)
	}
}

func (k *call) putReservations(list []reservationBody) {
	if !k.admin() {
		k.refuse(2010, k.route.fails.text)
		return
	}
	k.mu.Lock()
	var r *Refusal
	for _, b := range list {
		for _, text := range b.Nodes {
			names, err := hostlist.Expand(text)
			for _, name := range names {
				if err == nil && name != "ALL" && k.nodeByName[name] == nil {
					r = refuse(2018)
				}
			}
		}
		if r == nil {
			k.Cluster.setReservation(b.request())
		}
	}
	k.mu.Unlock()
	k.settled(r, k.route.fails.text)
}

func (k *call) removeReservation() {
	if !k.admin() {
		k.refuse(2010, k.route.fails.text)
		return
	}
	k.mu.Lock()
	found := k.deleteReservation(k.arg)
	k.mu.Unlock()
	if !found {
		k.refuse(2053, k.route.fails.text)
		return
	}
	k.done()
}
