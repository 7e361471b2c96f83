package slurmrestd

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// answerListWithTime answers with a list and last_update.
func answerListWithTime[T any](k *call, key string, t *template.Template[T], list []T, now slurm.Time) {
	k.answer(http.StatusOK, func(o *answerWriter) {
		writeList(o, key, t, list)
		writeTime(o, "last_update", now)
	}, nil, nil)
}

func answerList[T any](k *call, key string, t *template.Template[T], list []T) {
	k.answer(http.StatusOK, func(o *answerWriter) { writeList(o, key, t, list) }, nil, nil)
}

func (k *call) listPartitions() {
	since, ok := k.parseUpdateTime(http.StatusInternalServerError)
	if !ok {
		return
	}
	list, at := k.cluster.ReadPartitions("")
	if isUnchanged(since, at.Partitions) {
		k.answerNotModified()
		return
	}
	answerListWithTime(k, "partitions", k.recordWriters.partition, list, at.Now)
}

func (k *call) getPartition() {
	list, at := k.cluster.ReadPartitions(k.pathValue)
	switch {
	case len(list) > 0:
		answerListWithTime(k, "partitions", k.recordWriters.partition, list, at.Now)
	case k.cfg.Release == slurmctld.Release2411:
		k.failAbout(http.StatusUnprocessableEntity, 9000, "Unable to find partition "+k.pathValue)
	default:
		k.answer(http.StatusOK, func(o *answerWriter) {
			writeList(o, "partitions", k.recordWriters.partition, nil)
			writeTime(o, "last_update", at.Now)
		}, nil, []problem{{description: "Unable to find partition " + k.pathValue, source: "op_handler_partition"}})
	}
}

func (k *call) listReservations() {
	since, ok := k.parseUpdateTime(http.StatusInternalServerError)
	if !ok {
		return
	}
	list, at := k.cluster.ReadReservations("")
	if isUnchanged(since, at.Reservations) {
		k.answerNotModified()
		return
	}
	answerListWithTime(k, "reservations", k.recordWriters.reservation, list, at.Now)
}

func (k *call) getReservation() {
	list, at := k.cluster.ReadReservations(k.pathValue)
	if len(list) == 0 {
		k.failAbout(http.StatusUnprocessableEntity, 9000, "Unable to find reservation "+k.pathValue)
		return
	}
	answerListWithTime(k, "reservations", k.recordWriters.reservation, list, at.Now)
}

func (k *call) listLicenses() {
	list, at := k.cluster.ReadLicenses()
	answerListWithTime(k, "licenses", k.recordWriters.license, list, at.Now)
}

func (k *call) diag() {
	st, now := k.cluster.ReadStats()
	s := statsRecord{Stats: st, now: now}
	s.rpcTypes, s.rpcUsers = k.rpcs.records(k.cluster)
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("statistics")
		k.recordWriters.statistics.Append(o.Writer, s)
	}, nil, nil)
}

// conf answers with the part of the configuration that the client reads.
func (k *call) conf() {
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("slurm_conf")
		o.Object()
		o.Key("PrivateData")
		o.Array()
		for _, word := range k.cfg.PrivateData {
			o.Item()
			o.String(word)
		}
		o.EndArray()
		o.EndObject()
	}, nil, nil)
}

func (k *call) reconfigure() {
	if !k.isAdmin() {
		k.fail(k.refusalStatus(), 2010)
		return
	}
	k.answerDone()
}

// answerDone answers that the request succeeded.
func (k *call) answerDone() { k.answer(http.StatusOK, func(*answerWriter) {}, nil, nil) }

func (k *call) listAccounts() {
	var list []slurm.Account
	for _, name := range k.cluster.Accounts() {
		list = append(list, slurm.Account{Name: name, Description: name, Organization: name})
	}
	answerList(k, "accounts", k.recordWriters.account, list)
}

func (k *call) listUsers() {
	list := slices.Clone(k.cfg.Users)
	slices.SortFunc(list, func(a, b slurmctld.UserConf) int { return cmp.Compare(a.Name, b.Name) })
	answerList(k, "users", k.recordWriters.user, list)
}

func (k *call) listQOS() {
	var list []qosRecord
	for i, q := range k.cfg.QOS {
		list = append(list, qosRecord{q, i + 1})
	}
	answerList(k, "qos", k.recordWriters.qos, list)
}

func (k *call) qosNames() (names []string) {
	for _, q := range k.cfg.QOS {
		names = append(names, q.Name)
	}
	return names
}

func (k *call) listAssociations() {
	var list []slurm.Association
	for i, account := range k.cluster.Accounts() {
		a := slurm.Association{ID: uint32(i + 1), Account: account, Cluster: k.cfg.ClusterName, SharesRaw: 1,
			QOS: k.qosNames()}
		if account != "root" {
			a.ParentAccount = "root"
		}
		list = append(list, a)
		for _, u := range k.cfg.Users {
			if u.Account == account {
				list = append(list, slurm.Association{ID: k.cluster.AssociationID(u.Name), Account: account,
					User:    u.Name,
					Default: true,
					Cluster: k.cfg.ClusterName, SharesRaw: int64(max(1, u.Shares)), QOS: k.qosNames()})
			}
		}
	}
	answerList(k, "associations", k.recordWriters.association, list)
}

func (k *call) listClusters() {
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("clusters")
		o.Array()
		o.Item()
		o.Object()
		o.Key("name")
		o.String(k.cfg.ClusterName)
		o.EndObject()
		o.EndArray()
	}, nil, nil)
}

func (k *call) dbPing() {
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("pings")
		o.Array()
		o.Item()
		o.Object()
		o.Key("hostname")
		o.String("localhost")
		o.Key("responding")
		o.Bool(true)
		o.Key("latency")
		o.Uint(400)
		o.Key("primary")
		o.Bool(true)
		o.EndObject()
		o.EndArray()
	}, nil, nil)
}
