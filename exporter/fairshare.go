package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func fairshareCollector() collector {
	return collector{
		name: "fairshare", set: Native, help: "accounts in the fair-share tree",
		needs: []slurmclient.Resource{slurmclient.Shares},
		families: shareFamilies("slurm_fairshare_account_", []string{"account", "parent"}, func(v *snapshotView) []shareRow {
			var out []shareRow
			for _, s := range v.Shares.Value {
				if !s.User {
					out = append(out, shareRow{[]string{s.Name, s.Parent}, s})
				}
			}
			if n := v.limits.Accounts; n > 0 && len(out) > n {
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

func shareFamilies(prefix string, labels []string, rows func(*snapshotView) []shareRow) []family {
	share := func(name, help string, put func(s slurm.Share, out *samples, labels []string)) family {
		return family{prefix + name, gauge, help, labels, func(v *snapshotView, out *samples) {
			for _, r := range rows(v) {
				put(r.share, out, r.labels)
			}
		}}
	}
	return []family{
		share("shares", "Assigned shares, relative to the sum over the siblings.",
			func(s slurm.Share, out *samples, labels []string) { out.addNumber(s.Shares, 1, labels...) }),
		share("shares_ratio", "Normalised shares, 0 to 1 (NormShares of sshare).",
			func(s slurm.Share, out *samples, labels []string) {
				// The root account has no shares. Its ratio is computed from Slurm's value for "unset".
				if !s.Shares.IsUnset() && !s.Shares.IsAbsent() {
					out.addFloat(s.SharesNormalized, labels...)
				}
			}),
		share("usage_ratio", "Effective usage, 0 to 1 (EffectvUsage of sshare).",
			func(s slurm.Share, out *samples, labels []string) { out.addFloat(s.EffectiveUsage, labels...) }),
		share("usage_seconds", "Raw usage in billing seconds; it decays over time.",
			func(s slurm.Share, out *samples, labels []string) { out.addCount(s.Usage, labels...) }),
		share("factor", "Fair-share factor, 0 to 1, which contributes to the priority of jobs.",
			func(s slurm.Share, out *samples, labels []string) { out.addFloat(s.Factor, labels...) }),
		share("level", "Shares divided by usage among siblings (LevelFS), +Inf without usage; below 1 means "+
			"over-served.", func(s slurm.Share, out *samples, labels []string) { out.addFloat(s.Level, labels...) }),
	}
}
