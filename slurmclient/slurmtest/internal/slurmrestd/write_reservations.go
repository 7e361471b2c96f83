package slurmrestd

import (
	"strings"

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
	requests := make([]slurm.ReservationRequest, len(list))
	for i, b := range list {
		requests[i] = b.request()
	}
	k.answerOutcome(k.cluster.SetReservations(requests), k.route.failure.description)
}

func (k *call) removeReservation() {
	if !k.isAdmin() {
		k.refuse(2010, k.route.failure.description)
		return
	}
	if !k.cluster.DeleteReservation(k.pathValue) {
		k.refuse(2053, k.route.failure.description)
		return
	}
	k.answerDone()
}
