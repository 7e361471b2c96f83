package slurmrestd

import (
	"math"
	"net/http"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

func (k *call) listShares() {
	list := k.shareRecords()
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("shares")
		o.Object()
		writeList(o, "shares", k.recordWriters.share, list)
		o.Key("total_shares")
		o.Uint(0)
		o.EndObject()
	}, nil, nil)
}

// shareRecords returns the fair-share tree: each account followed by its users.
func (k *call) shareRecords() []slurm.Share {
	t := k.shareTree()
	var list []slurm.Share
	for _, account := range k.cluster.Accounts() {
		s := t.newShare(account, "root", 1, float64(len(k.cluster.Accounts())), t.accounts[account], t.total)
		if account == "root" {
			s.Parent, s.Shares = "", slurm.Unset()
		}
		s.Factor = slurm.Flt(0)
		list = append(list, s)
		for _, u := range k.cfg.Users {
			if u.Account == account {
				one := t.newShare(u.Name, account, float64(max(1, u.Shares)), t.shares[account], t.users[u.Name],
					t.accounts[account])
				one.User = true
				list = append(list, one)
			}
		}
	}
	return list
}

// shareTree is the usage of users and accounts, in CPU seconds, and the sum of the users' shares in
// each account.
type shareTree struct {
	users, accounts, shares map[string]float64
	total                   float64
	infinite                slurm.Float // how the release writes infinity
}

func (k *call) shareTree() shareTree {
	t := shareTree{map[string]float64{}, map[string]float64{}, map[string]float64{}, 0,
		slurm.Flt(1.8446744073709552e19)}
	if k.cfg.Release == slurmctld.Release2411 {
		t.infinite = slurm.InfiniteFloat()
	}
	usage := k.cluster.ReadUsage()
	for _, u := range k.cfg.Users {
		used := float64(usage[u.Name])
		t.users[u.Name] = used
		t.accounts[u.Account] += used
		t.shares[u.Account] += float64(max(1, u.Shares))
		t.total += used
	}
	return t
}

// newShare returns one row: shares of allShares, and used of allUsed.
func (t shareTree) newShare(name, parent string, shares, allShares, used, allUsed float64) slurm.Share {
	normal, effective := shares/allShares, 0.0
	if allUsed > 0 {
		effective = used / allUsed
	}
	s := slurm.Share{Name: name, Parent: parent, Shares: slurm.Num(uint64(shares)), SharesNormalized: slurm.Flt(normal),
		EffectiveUsage: slurm.Flt(effective), UsageNormalized: slurm.Flt(effective), Usage: uint64(used),
		Factor: slurm.Flt(math.Exp2(-effective / normal)), Level: t.infinite}
	if effective > 0 {
		s.Level = slurm.Flt(normal / effective)
	}
	return s
}
