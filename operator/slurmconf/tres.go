package slurmconf

import (
	"regexp"
	"slices"
	"strings"
)

// tresPattern matches a TRES that slurmdbd makes, as a list or a weight names it. The others are built in; slurmctld ends with one of
// another kind, and with a kind without a name (measured: docs/development/slurm.md).
var tresPattern = regexp.MustCompile(`(?i)\b(?:gres|license|bb|fs|ic)/[^\s,="\\]+`)

// weightsPattern matches the weights of TRES in the line of a partition.
var weightsPattern = regexp.MustCompile(`(?i)\bTRESBillingWeights[ \t]*=[ \t]*(?:"[^"]*"|[^ \t]+)`)

// ReplaceTRES returns the line of AccountingStorageTRES, or of weights of TRES, with each TRES that slurmdbd makes replaced. Other
// lines it returns as they are.
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

// gresItem matches an item of Gres with a name and perhaps a type, such as "gpu:h100:4" (slurm.conf(5)).
var gresItem = regexp.MustCompile(`^([A-Za-z0-9_.-]+)(?::([A-Za-z0-9_.-]+))?(?::|\(|$)`)

// gresCount matches the number of a GRES, and the word in the place of its type for one that jobs do not use up.
var gresCount = regexp.MustCompile(`^([0-9]+[KMGTPkmgtp]?|no_consume)$`)

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

// kindsOfGRES returns the kinds of the GRES of NodeSets, as GresTypes has them, and their TRES: each kind, and each type of it. Both are
// sorted. What cannot be read has none: slurmctld refuses it when a worker comes.
func kindsOfGRES(nodeSets []NodeSet) (kinds, tres []string) {
	for _, n := range nodeSets {
		for _, item := range SplitList(n.GRES) {
			m := gresItem.FindStringSubmatch(item)
			if m == nil {
				continue
			}
			kinds, tres = append(kinds, m[1]), append(tres, "gres/"+m[1])
			if m[2] != "" && !gresCount.MatchString(m[2]) {
				tres = append(tres, "gres/"+m[1]+":"+m[2])
			}
		}
	}
	return sortUnique(kinds), sortUnique(tres)
}

func sortUnique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// gresAssignments returns the GRES that slurmctld must know for the NodeSets, and those that are accounted. theirs are the settings of
// the user. Kinds that their GresTypes lacks are added to it. Their AccountingStorageTRES replaces ours, which also has
// what weights name: slurmctld does not start with weights of TRES that are not accounted.
func (c SlurmConf) gresAssignments(theirs []Setting) []assignment {
	var out []assignment
	kinds, tres := kindsOfGRES(c.NodeSets)
	given := lastList(theirs, "GresTypes")
	if all := MergeLists(slices.Clone(given), kinds); len(all) > len(given) {
		if slices.ContainsFunc(all, func(kind string) bool { return !slices.Contains(c.KnownGRES, kind) }) {
			all = MergeLists(all, c.KnownGRES)
		}
		out = append(out, assignment{name: "GresTypes", value: strings.Join(all, ","), followsTheirs: true})
	}
	if c.Accounting == "" {
		return out
	}
	weighted := slices.Clone(theirs)
	for _, n := range c.NodeSets {
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
