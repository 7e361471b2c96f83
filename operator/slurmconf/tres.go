package slurmconf

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// tresPattern matches a TRES that slurmdbd creates, as a list or a weight names it. All other TRES are built in; slurmctld ends with
// any other kind, and with a kind without a name (measured: docs/development/slurm.md). The characters of a name are restricted, since
// it goes into the database without a trial.
var tresPattern = regexp.MustCompile(`(?i)\b(?:gres|license|bb|fs|ic)/[A-Za-z0-9_.:@/-]{1,200}`)

// weightsPattern matches the weights of TRES in the line of a partition.
var weightsPattern = regexp.MustCompile(`(?i)\bTRESBillingWeights[ \t]*[-+*/]?=[ \t]*(?:"[^"]*"|[^ \t]+)`)

// ReplaceTRES returns the line of AccountingStorageTRES, or of weights of TRES, with each TRES that slurmdbd makes replaced. It returns
// other lines unchanged.
func (s Setting) ReplaceTRES(replace func(name string) string) string {
	switch strings.ToLower(s.Name) {
	case "accountingstoragetres", "priorityweighttres":
		return tresPattern.ReplaceAllStringFunc(s.Text, replace)
	case "partitionname":
		return weightsPattern.ReplaceAllStringFunc(s.Text, func(weights string) string {
			return tresPattern.ReplaceAllStringFunc(weights, replace)
		})
	}
	return s.Text
}

// gresItem matches an item of Gres: a name with an optional type, such as "gpu:h100:4", "gpu:4090:2" and "gpu:h100", and an optional
// count (slurm.conf(5)). The text after the name is a count if it looks like one, and nothing follows it.
var gresItem = regexp.MustCompile(`^([A-Za-z0-9_.-]+)(?::([A-Za-z0-9_.-]+))??(?::no_consume)?(?::[0-9]+[KMGTPkmgtp]?)?$`)

// sockets matches the sockets of an item of Gres, whose list has commas, too.
var sockets = regexp.MustCompile(`\([^)]*\)`)

// GresFile is the file beside slurm.conf that defines how slurmd finds generic resources.
const GresFile = "gres.conf"

// GRESKinds returns the kinds of generic resources in the value of Gres, sorted.
func GRESKinds(gres string) []string {
	kinds, _ := kindsOfGRES([]NodeSet{{GRES: gres}})
	return kinds
}

// GRESTypes returns GresTypes of settings, sorted.
func GRESTypes(settings []Setting) []string { return sortUnique(lastList(settings, "GresTypes")) }

// lastList returns the items of the last value of an option, which counts in Slurm.
func lastList(settings []Setting, option string) []string {
	var out []string
	for _, s := range settings {
		if strings.EqualFold(s.Name, option) {
			out = SplitList(s.Value)
		}
	}
	return out
}

// kindsOfGRES returns the kinds of the GRES of NodeSets, in the form of GresTypes, and their TRES: each kind, and each type of it. Both
// are sorted. Unreadable GRES are left out: slurmctld refuses them when a worker registers.
func kindsOfGRES(nodeSets []NodeSet) (kinds, tres []string) {
	for _, n := range nodeSets {
		for _, item := range SplitList(sockets.ReplaceAllString(n.GRES, "")) {
			m := gresItem.FindStringSubmatch(item)
			if m == nil || strings.EqualFold(m[1], "none") {
				continue
			}
			kinds, tres = append(kinds, m[1]), append(tres, strings.ToLower("gres/"+m[1]))
			if m[2] != "" {
				tres = append(tres, strings.ToLower("gres/"+m[1]+":"+m[2]))
			}
			if m[1] == "shard" || m[1] == "mps" { // parts of GPUs, without which slurmctld does not start
				kinds = append(kinds, "gpu")
			}
		}
	}
	return sortUnique(kinds), sortUnique(tres)
}

func sortUnique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// hasSlurmdbd reports whether slurmctld uses slurmdbd, with ours and the settings of the user.
func (c SlurmConf) hasSlurmdbd(theirs []Setting) bool {
	out := c.Accounting != ""
	for _, s := range theirs {
		if strings.EqualFold(s.Name, "AccountingStorageType") {
			out = path.Base(strings.ToLower(s.Value)) == "slurmdbd"
		}
	}
	return out
}

// AccountedTRES returns the TRES of AccountingStorageTRES in settings that slurmdbd makes, in lower case.
func AccountedTRES(settings []Setting) []string {
	var out []string
	for _, name := range lastList(settings, "AccountingStorageTRES") {
		if tresPattern.MatchString(name) {
			out = append(out, strings.ToLower(name))
		}
	}
	return out
}

// gresAssignments returns the GRES that slurmctld must know for the NodeSets, and the accounted TRES. theirs are the settings of the
// user. Kinds that their GresTypes lacks are added to it. Their AccountingStorageTRES replaces ours. Ours also names the TRES in
// weights: slurmctld does not start with weights of TRES that are not accounted. Ours keeps every earlier TRES: slurmctld loses the
// usage of a TRES for good when it stops accounting it. Our GresTypes also keeps every kind: jobs that request it would hold the
// configuration, and a kind without nodes has no effect.
func (c SlurmConf) gresAssignments(theirs []Setting) []assignment {
	var out []assignment
	var kinds, tres []string
	if _, has := c.ExtraFiles[GresFile]; has { // otherwise slurmd finds no GRES, and slurmctld would drain its node
		kinds, tres = kindsOfGRES(c.NodeSets)
	}
	given := lastList(theirs, "GresTypes")
	all := MergeLists(slices.Clone(given), kinds)
	if isNew := func(kind string) bool { return !slices.Contains(c.KnownGRES, kind) }; len(given) == 0 || slices.ContainsFunc(all, isNew) {
		all = MergeLists(all, c.KnownGRES)
	}
	if len(all) > len(given) {
		out = append(out, assignment{name: "GresTypes", value: strings.Join(all, ","), followsTheirs: true})
	}
	if !c.hasSlurmdbd(theirs) {
		return out
	}
	tres = append(tres, c.AccountedTRES...)
	weighted := slices.Clone(theirs)
	for _, n := range c.NodeSets {
		if !n.HasPartition {
			continue
		}
		weighted = append(weighted, Setting{Name: "PartitionName", Text: n.PartitionOptions})
	}
	for _, s := range weighted {
		s.ReplaceTRES(func(name string) string {
			tres = append(tres, strings.ToLower(name))
			return name
		})
	}
	if tres = sortUnique(tres); len(tres) > 0 {
		out = append(out, assignment{name: "AccountingStorageTRES", value: strings.Join(tres, ",")})
	}
	return out
}
