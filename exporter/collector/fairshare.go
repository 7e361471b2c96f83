package collector

import (
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func fairshareCollector() exposition.Collector {
	return exposition.Collector{
		Name: "fairshare", Set: exposition.Native, Help: "accounts in the fair-share tree",
		Needs: []slurmclient.Resource{slurmclient.Shares},
		Families: shareFamilies("slurm_fairshare_account_", []string{"account", "parent"},
			func(v *tally.View) []shareRow {
				var out []shareRow
				for _, s := range v.Shares.Value {
					if !s.User {
						out = append(out, shareRow{[]string{s.Name, s.Parent}, s})
					}
				}
				if n := v.Limits.Accounts; n > 0 && len(out) > n {
					out = out[:n]
				}
				return out
			}),
	}
}

// shareRow is a share with its label values.
type shareRow struct {
	labels []string
	share  slurm.Share
}

func shareFamilies(prefix string, labels []string, rows func(*tally.View) []shareRow) []exposition.Family {
	share := func(name, help string, put func(s slurm.Share, out *exposition.Samples,
		labels []string)) exposition.Family {
		return exposition.Family{Name: prefix + name, Kind: exposition.Gauge, Help: help, Labels: labels,
			Values: func(v *tally.View, out *exposition.Samples) {
				for _, r := range rows(v) {
					put(r.share, out, r.labels)
				}
			}}
	}
	return []exposition.Family{
		share("shares", "Assigned shares, relative to the sum over the siblings.",
			func(s slurm.Share, out *exposition.Samples, labels []string) { out.AddNumber(s.Shares, 1, labels...) }),
		share("shares_ratio", "Normalised shares, 0 to 1 (NormShares of sshare).",
			func(s slurm.Share, out *exposition.Samples, labels []string) {
				// The root account has no shares. Its ratio is computed from Slurm's value for "unset".
				if !s.Shares.IsUnset() && !s.Shares.IsAbsent() {
					out.AddFloat(s.SharesNormalized, labels...)
				}
			}),
		share("usage_ratio", "Effective usage, 0 to 1 (EffectvUsage of sshare).",
			func(s slurm.Share, out *exposition.Samples, labels []string) {
				out.AddFloat(s.EffectiveUsage, labels...)
			}),
		share("usage_seconds", "Raw usage in billing seconds; it decays over time.",
			func(s slurm.Share, out *exposition.Samples, labels []string) { out.AddCount(s.Usage, labels...) }),
		share("factor", "Fair-share factor, 0 to 1, which contributes to the priority of jobs.",
			func(s slurm.Share, out *exposition.Samples, labels []string) { out.AddFloat(s.Factor, labels...) }),
		share("level", "Shares divided by usage among siblings (LevelFS), +Inf without usage; below 1 means "+
			"over-served.", func(s slurm.Share, out *exposition.Samples,
			labels []string) {
			out.AddFloat(s.Level, labels...)
		}),
	}
}
