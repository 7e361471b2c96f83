package slurmrestd

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

func partitionFields() template.Fields[*slurm.Partition] {
	type p = *slurm.Partition
	return template.Fields[*slurm.Partition]{
		"nodes.configured": template.Text(func(p p) string { return p.Nodes }),
		"nodes.total":      template.Count(func(p p) uint64 { return uint64(p.TotalNodes) }),
		"tres.configured":  template.Text(func(p p) string { return p.TRES }),
		"cpus.total":       template.Count(func(p p) uint64 { return uint64(p.TotalCPUs) }),
		"defaults.time":    template.Number(func(p p) slurm.Number { return p.DefaultTime }),
		"flags":            template.Text(partitionFlags),
		"maximums.nodes":   template.Number(func(p p) slurm.Number { return p.MaxNodes }),
		"maximums.time":    template.Number(func(p p) slurm.Number { return p.MaxTime }),
		"minimums.nodes":   template.Count(func(p p) uint64 { return uint64(p.MinNodes) }),
		"name":             template.Text(func(p p) string { return p.Name }),
		"node_sets":        template.Text(func(p p) string { return p.NodeSets }),
		"priority.tier":    template.Count(func(p p) uint64 { return uint64(p.PriorityTier) }),
		"partition.state":  template.Text(func(p p) string { return string(p.State) }),
	}
}

func partitionFlags(p *slurm.Partition) string {
	if p.Default {
		return "DEFAULT"
	}
	return ""
}

func reservationFields() template.Fields[*slurm.Reservation] {
	type r = *slurm.Reservation
	return template.Fields[*slurm.Reservation]{
		"accounts":   template.Text(func(r r) string { return r.Accounts }),
		"core_count": template.Count(func(r r) uint64 { return uint64(r.CoreCount) }),
		"end_time":   template.Time(func(r r) slurm.Time { return r.EndTime }),
		"features":   template.Text(func(r r) string { return r.Features }),
		"flags":      template.Texts(func(r r) []string { return r.Flags }),
		"groups":     template.Text(func(r r) string { return r.Groups }),
		"licenses":   template.Text(func(r r) string { return r.Licenses }),
		"name":       template.Text(func(r r) string { return r.Name }),
		"node_count": template.Count(func(r r) uint64 { return uint64(r.NodeCount) }),
		"node_list":  template.Text(func(r r) string { return r.Nodes }),
		"partition":  template.Text(func(r r) string { return r.Partition }),
		"start_time": template.Time(func(r r) slurm.Time { return r.StartTime }),
		"tres":       template.Text(func(r r) string { return r.TRES }),
		"users":      template.Text(func(r r) string { return r.Users }),
	}
}

func licenseFields() template.Fields[slurm.License] {
	type l = slurm.License
	return template.Fields[slurm.License]{
		"LicenseName": template.Text(func(l l) string { return l.Name }),
		"Total":       template.Count(func(l l) uint64 { return l.Total }),
		"Used":        template.Count(func(l l) uint64 { return l.Used }),
		"Free":        template.Count(func(l l) uint64 { return l.Free }),
		"Reserved":    template.Count(func(l l) uint64 { return l.Reserved }),
	}
}

func shareFields(cfg slurmctld.Config) template.Fields[slurm.Share] {
	type s = slurm.Share
	return template.Fields[slurm.Share]{
		"cluster":           template.Text(func(s) string { return cfg.ClusterName }),
		"name":              template.Text(func(s s) string { return s.Name }),
		"parent":            template.Text(func(s s) string { return s.Parent }),
		"shares_normalized": template.Float(func(s s) slurm.Float { return s.SharesNormalized }),
		"shares":            template.Number(func(s s) slurm.Number { return s.Shares }),
		"effective_usage":   template.Float(func(s s) slurm.Float { return s.EffectiveUsage }),
		"usage_normalized":  template.Float(func(s s) slurm.Float { return s.UsageNormalized }),
		"usage":             template.Count(func(s s) uint64 { return s.Usage }),
		"fairshare.factor":  template.Float(func(s s) slurm.Float { return s.Factor }),
		"fairshare.level":   template.Float(func(s s) slurm.Float { return s.Level }),
		"type":              template.Text(shareType),
	}
}

func shareType(s slurm.Share) string {
	if s.User {
		return "USER"
	}
	return "ASSOCIATION"
}

func accountFields() template.Fields[slurm.Account] {
	type a = slurm.Account
	return template.Fields[slurm.Account]{
		"name":         template.Text(func(a a) string { return a.Name }),
		"description":  template.Text(func(a a) string { return a.Description }),
		"organization": template.Text(func(a a) string { return a.Organization }),
	}
}

// associationFields supports both shapes of "id": a number and an object.
func associationFields(version string) template.Fields[slurm.Association] {
	type a = slurm.Association
	fields := template.Fields[slurm.Association]{
		"account":        template.Text(func(a a) string { return a.Account }),
		"cluster":        template.Text(func(a a) string { return a.Cluster }),
		"id.account":     template.Text(func(a a) string { return a.Account }),
		"id.cluster":     template.Text(func(a a) string { return a.Cluster }),
		"id.user":        template.Text(func(a a) string { return a.User }),
		"id.id":          template.Count(func(a a) uint64 { return uint64(a.ID) }),
		"is_default":     template.Flag(func(a a) bool { return a.Default }),
		"lineage":        template.Text(lineageOf),
		"parent_account": template.Text(func(a a) string { return a.ParentAccount }),
		"qos":            template.Texts(func(a a) []string { return a.QOS }),
		"shares_raw":     template.Int(func(a a) int64 { return a.SharesRaw }),
		"user":           template.Text(func(a a) string { return a.User }),
	}
	if version >= "v0.0.43" {
		fields["id"] = template.Count(func(a a) uint64 { return uint64(a.ID) })
	}
	return fields
}

func lineageOf(a slurm.Association) string {
	switch {
	case a.User != "":
		return "/" + a.Account + "/0-" + a.User + "/"
	case a.ParentAccount == "":
		return "/"
	}
	return "/" + a.Account + "/"
}

func userFields() template.Fields[slurmctld.UserConf] {
	return template.Fields[slurmctld.UserConf]{
		"administrator_level": template.Text(adminLevel),
		"name":                template.Text(func(u slurmctld.UserConf) string { return u.Name }),
	}
}

func adminLevel(u slurmctld.UserConf) string {
	if u.Admin {
		return "Administrator"
	}
	return "None"
}

// qosRecord is a quality of service and its id.
type qosRecord struct {
	slurmctld.QOSConf
	id int
}

func qosFields() template.Fields[qosRecord] {
	type q = qosRecord
	none := template.Value(func(w *template.Writer, _ q) { w.Strings() })
	return template.Fields[qosRecord]{
		"name":        template.Text(func(q q) string { return q.Name }),
		"description": template.Text(func(q q) string { return q.Name }),
		"id":          template.Int(func(q q) int64 { return int64(q.id) }),
		"priority": template.Number(func(q q) slurm.Number {
			return slurm.Num(uint64(q.Priority))
		}),
		"limits.max.tres.total":    none,
		"limits.max.tres.per.user": none,
		"limits.max.jobs.active_jobs.per.user": template.Number(
			func(q q) slurm.Number { return slurmctld.InfiniteIfZero(q.MaxJobsPerUser) }),
	}
}
