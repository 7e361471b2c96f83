package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Revision is a stored revision of the template that creates the workers of a NodeSet.
type Revision struct {
	Name string
	// Hash is the label of workers with the revision. A newer revision has a higher Number.
	Hash   string
	Number int64
	// Ordinals is the value of AnnotationOrdinals: the ordinals below the partition that keep the
	// revision.
	Ordinals string
	// Owned reports that the NodeSet is its controller. An earlier NodeSet of the name may have left
	// it behind.
	Owned bool
	// Foreign reports that another operator stored it. No worker can be created from it.
	Foreign bool
	// Adopts are the revisions of another operator that count as this one (see observed.AdoptedRevisions).
	Adopts []string
}

// RevisionVerb is the kind of a change to a revision.
type RevisionVerb string

// Verbs of changes.
const (
	AdoptRevision    RevisionVerb = "adopt"
	CreateRevision   RevisionVerb = "create"
	AnnotateRevision RevisionVerb = "annotate"
	DeleteRevision   RevisionVerb = "delete"
)

// RevisionChange is a change to a revision.
type RevisionChange struct {
	Verb RevisionVerb
	Name string
	// Number is the number of a created revision, and Adopts the revision that it adopts. Ordinals is the annotation
	// that AnnotateRevision writes.
	Number   int64
	Adopts   []string
	Ordinals string
}

// planRevisions adopts revisions without an owner and creates the newest one. It annotates old revisions with the
// ordinals that keep them, so that they are known when the workers are gone. It deletes revisions beyond the history
// limit that no worker uses and no ordinal keeps.
func planRevisions(desired *Desired, observed *Observation, kept map[int]string) []RevisionChange {
	if desired.Deleting {
		return nil
	}
	var out []RevisionChange
	for _, r := range observed.Revisions {
		if !r.Owned {
			out = append(out, RevisionChange{Verb: AdoptRevision, Name: r.Name})
		}
	}
	if desired.Frozen {
		return out
	}
	newest, known := int64(0), false
	for _, r := range observed.Revisions {
		newest, known = max(newest, r.Number), known || r.Name == desired.RevisionName
	}
	if !known {
		out = append(out, RevisionChange{Verb: CreateRevision, Name: desired.RevisionName, Number: newest + 1,
			Adopts: adoptsOf(observed, desired.Revision)})
	}
	ordinals := map[string][]int{}
	for ordinal, hash := range kept {
		ordinals[hash] = append(ordinals[hash], ordinal)
	}
	for _, r := range observed.Revisions {
		if text := formatOrdinals(ordinals[r.Hash]); text != r.Ordinals {
			out = append(out, RevisionChange{Verb: AnnotateRevision, Name: r.Name, Ordinals: text})
		}
	}
	unused := unusedRevisions(desired, observed, kept)
	for _, r := range unused[min(len(unused), max(0, desired.RevisionHistoryLimit)):] {
		out = append(out, RevisionChange{Verb: DeleteRevision, Name: r.Name})
	}
	return out
}

// unusedRevisions returns the revisions that no worker uses and no ordinal keeps, the newest first.
func unusedRevisions(desired *Desired, observed *Observation, kept map[int]string) []Revision {
	used := map[string]bool{desired.Revision: true}
	for _, w := range observed.Workers {
		used[w.Revision] = true
	}
	for hash := range maps.Values(kept) {
		used[hash] = true
	}
	// Revisions of another operator stay: if it takes the NodeSet back, it identifies its workers by them.
	out := slices.DeleteFunc(slices.Clone(observed.Revisions),
		func(r Revision) bool { return used[r.Hash] || r.Foreign })
	slices.SortStableFunc(out, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	return out
}

// keptRevisions returns, by ordinal, the old revisions that ordinals below the partition keep: the worker's revision
// or, without a worker, the revision annotated with the ordinal. Missing revisions are left out.
func keptRevisions(desired *Desired, observed *Observation) map[int]string {
	out := map[int]string{}
	if desired.Frozen || desired.PerKubeNode || desired.Update.Partition == 0 {
		return out
	}
	old := map[string]bool{}
	for _, r := range slices.SortedStableFunc(slices.Values(observed.Revisions), // of two that claim an ordinal the newer one
		func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) }) {
		if r.Hash == desired.Revision || r.Foreign {
			continue
		}
		old[r.Hash] = true
		for _, ordinal := range parseOrdinals(r.Ordinals, desired.Update.Partition) {
			out[ordinal] = r.Hash
		}
	}
	for _, w := range observed.Workers {
		switch {
		case w.Slot.Ordinal >= desired.Update.Partition, w.Slot.Ordinal == NoOrdinal:
		case old[w.Revision]:
			out[w.Slot.Ordinal] = w.Revision
		default:
			delete(out, w.Slot.Ordinal)
		}
	}
	return out
}

// maxOrdinals is the largest number of ordinals read from one AnnotationOrdinals, which may repeat
// some. It is more than any NodeSet has workers.
const maxOrdinals = 1 << 20

// parseOrdinals parses AnnotationOrdinals, up to but excluding end. It skips text that is not a
// list of ordinals.
func parseOrdinals(text string, end int) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		last := first
		if ranged && err == nil {
			last, err = strconv.Atoi(high)
		}
		if err != nil || first < 0 {
			continue
		}
		for i := first; i <= min(last, end-1) && len(out) < maxOrdinals; i++ {
			out = append(out, i)
		}
	}
	return out
}

// formatOrdinals formats AnnotationOrdinals; it is empty without ordinals.
func formatOrdinals(ordinals []int) string {
	ordinals = slices.Sorted(slices.Values(ordinals))
	var parts []string
	for i := 0; i < len(ordinals); {
		j := i
		for j+1 < len(ordinals) && ordinals[j+1] == ordinals[j]+1 {
			j++
		}
		part := strconv.Itoa(ordinals[i])
		if j > i {
			part += "-" + strconv.Itoa(ordinals[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ",")
}

// adoptsOf returns the revisions that a new revision adopts, sorted.
func adoptsOf(observed *Observation, hash string) []string {
	var out []string
	for adopted, by := range maps.All(observed.AdoptedRevisions) {
		if by == hash {
			out = append(out, adopted)
		}
	}
	slices.Sort(out)
	return out
}
