package inuse

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// countGRES returns the number of an option Count. A value that cannot be read, such as 2M, counts as 1, the smallest possible
// number.
func countGRES(value string) uint64 {
	n, ok := slurmconf.ParseNumber(value)
	if !ok {
		return 1
	}
	return n
}

// devices returns how many devices with files of their own the line names.
func (l gresLine) devices() uint64 {
	if l.isOne {
		return 1
	}
	return uint64(len(l.files))
}

// gresCount sums the lines of gres.conf for one kind of GRES on a node.
type gresCount struct {
	// devices are those with files by type, and all those and the others. Jobs know only the former by number.
	devices, all map[string]uint64
	// found are the options of lines whose count only slurmd knows.
	found []string
}

// countOf counts a kind on a node.
func countOf(node, kind string, lines []gresLine) gresCount {
	out := gresCount{devices: map[string]uint64{}, all: map[string]uint64{}}
	for _, line := range lines {
		if !line.isFor(node) && !line.isGuessed || line.kind != kind && line.kind != "" {
			continue
		}
		switch {
		case line.isGuessed:
			out.found = append(out.found, line.text)
		case line.isFound:
			out.found = append(out.found, line.options)
		}
		if line.kind == kind {
			out.devices[line.gresType] += line.devices()
			out.all[line.gresType] += max(line.devices(), line.count)
		}
	}
	slices.Sort(out.found)
	return out
}

// isFewer reports whether slurmctld may end jobs with the GRES of before, when the node registers with the GRES of after. It ends
// them if fewer of a type remain. If none remain, or all have another type, jobs keep their GRES (measured:
// docs/development/slurm.md, "What ends jobs"). They also keep them if GRES with files are only counted afterwards. isFewer
// compares that count nevertheless, but not with an earlier count.
func isFewer(before, after gresCount) bool {
	left := sumCounts(after.all)
	if !slices.Equal(before.found, after.found) {
		return left > 0 || len(after.found) > 0
	}
	if sumCounts(before.devices) == 0 {
		return sumCounts(after.devices) > 0 // Jobs may know more, from an earlier revision.
	}
	isSome := len(after.found) > 0 || left > 0 && left < sumCounts(before.devices)
	for gresType := range before.devices {
		isSome = isSome || after.all[gresType] > 0
	}
	for gresType, count := range before.devices {
		if isSome && after.all[gresType] < count {
			return true
		}
	}
	return false
}

func sumCounts(counts map[string]uint64) uint64 {
	out := uint64(0)
	for _, count := range counts {
		out += count
	}
	return out
}

// mayCountFewer reports whether isFewer may hold on some node.
func mayCountFewer(before, after []gresLine) bool {
	return len(before) > 0 && len(after) > 0 &&
		!slices.EqualFunc(before, after, func(a, b gresLine) bool { return a.text == b.text })
}

// sharedKinds are GRES that share devices of the kind gpu.
var sharedKinds = []string{"mps", "shard"}

// kindsOf returns the kinds of GRES that a job has, in lower case, and the kind of the devices that they share.
func kindsOf(j job) []string {
	var out []string
	for _, kind := range j.gresTypes {
		kind = strings.ToLower(kind)
		out = append(out, kind)
		if slices.Contains(sharedKinds, kind) {
			out = append(out, "gpu")
		}
	}
	return out
}

// fewerGRES returns a function that lists the nodes of a job that lose some of the job's GRES.
func fewerGRES(before, after []gresLine) func(job) []string {
	type place struct{ node, kind string }
	known := map[place]bool{}
	return func(j job) []string {
		kinds := kindsOf(j)
		return slices.DeleteFunc(slices.Clone(j.allocated), func(node string) bool {
			return !slices.ContainsFunc(kinds, func(kind string) bool {
				fewer, isKnown := known[place{node, kind}]
				if !isKnown {
					fewer = isFewer(countOf(node, kind, before), countOf(node, kind, after))
					known[place{node, kind}] = fewer
				}
				return fewer
			})
		})
	}
}
