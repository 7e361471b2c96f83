package slurmtest

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// answerListWithTime answers with a list and last_update.
func answerTimed[T any](k *call, key string, t *template.Template[T], list []T, now slurm.Time) {
	k.answer(http.StatusOK, func(o *out) {
		writeList(o, key, t, list)
		writeTime(o, "last_update", now)
	}, nil, nil)
}

func answerList[T any](k *call, key string, t *template.Template[T], list []T) {
	k.answer(http.StatusOK, func(o *out) { writeList(o, key, t, list) }, nil, nil)
}

func (k *call) partitionRecords(name string) (list []*slurm.Partition, changed, now slurm.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.snapshot()
	for _, p := range k.partitions {
		if name == "" || p.name() == name {
			list = append(list, p.view())
		}
	}
	return list, k.changed.partitions, k.now
}

func (k *call) listPartitions() {
	since, ok := k.since(http.StatusInternalServerError)
	if !ok {
		return
	}
	list, changed, now := k.partitionRecords("")
	if unchanged(since, changed) {
		k.unmodified()
		return
	}
	answerTimed(k, "partitions", k.wr.partition, list, now)
}

func (k *call) getPartition() {
	list, _, now := k.partitionRecords(k.arg)
	switch {
	case len(list) > 0:
		answerTimed(k, "partitions", k.wr.partition, list, now)
	case k.cfg.Release == Release2411:
		k.failAbout(http.StatusUnprocessableEntity, 9000, "Unable to find partition "+k.arg)
	default:
		k.answer(http.StatusOK, func(o *out) {
			writeList(o, "partitions", k.wr.partition, nil)
			writeTime(o, "last_update", now)
		}, nil, []problem{{text: "Unable to find partition " + k.arg, source: "op_handler_partition"}})
	}
}

func (k *call) reservationRecords(name string) (list []*slurm.Reservation, changed, now slurm.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.snapshot()
	for _, r := range k.resvs {
		if name == "" || r.view().Name == name {
			list = append(list, r.view())
		}
	}
	return list, k.changed.reservations, k.now
}

func (k *call) listReservations() {
	since, ok := k.since(http.StatusInternalServerError)
	if !ok {
		return
	}
	list, changed, now := k.reservationRecords("")
	if unchanged(since, changed) {
		k.unmodified()
		return
	}
	answerTimed(k, "reservations", k.wr.reservation, list, now)
}

func (k *call) getReservation() {
	list, _, now := k.reservationRecords(k.arg)
	if len(list) == 0 {
		k.failAbout(http.StatusUnprocessableEntity, 9000, "Unable to find reservation "+k.arg)
		return
	}
	answerTimed(k, "reservations", k.wr.reservation, list, now)
}

func (k *call) listLicenses() {
	k.mu.Lock()
	var list []slurm.License
	for _, l := range k.licenses {
		list = append(list, slurm.License{Name: l.Name, Total: l.Total, Used: l.used,
			Free: l.Total - min(l.Total, l.used), Reserved: l.reserved})
	}
	now := k.now
	k.mu.Unlock()
	answerTimed(k, "licenses", k.wr.license, list, now)
}

func (k *call) diag() {
	k.mu.Lock()
	k.countStates()
	s := statsRecord{stats: k.stats, now: k.now}
	k.mu.Unlock()
	s.rpcTypes, s.rpcUsers = k.rpcs.records(k.users)
	k.answer(http.StatusOK, func(o *out) {
		o.Key("statistics")
		k.wr.statistics.Append(o.Writer, s)
	}, nil, nil)
}

// conf answers with the part of the configuration that the client reads.
func (k *call) conf() {
	k.answer(http.StatusOK, func(o *out) {
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
	if !k.admin() {
		k.fail(k.refusal(), 2010)
		return
	}
	k.done()
}

// answerDone answers that the request succeeded.
func (k *call) done() { k.answer(http.StatusOK, func(*out) {}, nil, nil) }

func (k *call) listAccounts() {
	var list []slurm.Account
	for _, name := range k.accounts() {
		list = append(list, slurm.Account{Name: name, Description: name, Organization: name})
	}
	answerList(k, "accounts", k.wr.account, list)
}

func (k *call) listUsers() {
	list := slices.Clone(k.cfg.Users)
	slices.SortFunc(list, func(a, b UserConf) int { return cmp.Compare(a.Name, b.Name) })
	answerList(k, "users", k.wr.user, list)
}

func (k *call) listQOS() {
	var list []qosRecord
	for i, q := range k.cfg.QOS {
		list = append(list, qosRecord{q, i + 1})
	}
	answerList(k, "qos", k.wr.qos, list)
}

func (k *call) qosNames() (names []string) {
	for _, q := range k.cfg.QOS {
		names = append(names, q.Name)
	}
	return names
}

func (k *call) listAssociations() {
	var list []slurm.Association
	for i, account := range k.accounts() {
		a := slurm.Association{ID: uint32(i + 1), Account: account, Cluster: k.cfg.ClusterName, SharesRaw: 1,
			QOS: k.qosNames()}
		if account != "root" {
			a.ParentAccount = "root"
		}
		list = append(list, a)
		for _, u := range k.cfg.Users {
			if u.Account == account {
				list = append(list, slurm.Association{ID: k.assocID(u.Name), Account: account, User: u.Name, Default: true,
					Cluster: k.cfg.ClusterName, SharesRaw: int64(max(1, u.Shares)), QOS: k.qosNames()})
			}
		}
	}
	answerList(k, "associations", k.wr.association, list)
}

func (k *call) listClusters() {
	k.answer(http.StatusOK, func(o *out) {
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
	k.answer(http.StatusOK, func(o *out) {
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
