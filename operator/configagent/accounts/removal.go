package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const (
	// smallRemoval is the number of associations that prune may always remove at once, even from a small cluster.
	smallRemoval = 2
	// removalShare limits what prune removes at once: one in removalShare of a cluster's associations.
	removalShare = 4
	// maxDescribed is the number of associations that a description of a removal names.
	maxDescribed = 10
)

// removal lists what prune would remove from a cluster.
type removal struct {
	cluster string
	// unlisted are the associations to remove, in the order in which Slurm accepts it.
	unlisted []Association
	// removable is the number of associations that prune could remove.
	removable int
	// listsNothing is true if the files list no account or user of their own.
	listsNothing bool
}

// planRemoval decides what prune would remove from a cluster with the existing associations.
func planRemoval(cluster string, files listing, existing []Association) removal {
	return removal{cluster, files.unlisted(existing), files.removable(existing), files.isEmpty()}
}

// refusal returns the reason to remove nothing, or an empty string. confirmed names the removals that were requested
// explicitly.
func (r removal) refusal(confirmed []string) string {
	count := len(r.unlisted)
	isSmall := count <= max(smallRemoval, r.removable/removalShare) && count < r.removable
	switch {
	case count == 0:
		return ""
	case r.listsNothing:
		return "lists no account or user of its own, and prune never removes all: use sacctmgr, or set prune to false"
	case isSmall || slices.Contains(confirmed, r.name()):
		return ""
	}
	return fmt.Sprintf("prune would remove %d of %d accounts and users of cluster %s, more than one in %d; nothing of the "+
		"cluster is changed: correct the file, or set the annotation %s=%s", count, r.removable, r.cluster, removalShare,
		v1beta1.AnnotationRemoveAccounts, r.name())
}

// name identifies the removal by its size and content, so that a confirmation counts only for this removal.
func (r removal) name() string {
	var lines []string
	for _, a := range r.unlisted {
		lines = append(lines, a.String())
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(r.cluster + "\n" + strings.Join(lines, "\n")))
	return fmt.Sprintf("%d-%s", len(lines), hex.EncodeToString(sum[:4]))
}

// describe lists the removals in one line, or returns an empty string.
func (r removal) describe() string {
	var out []string
	for _, a := range r.unlisted[:min(maxDescribed, len(r.unlisted))] {
		out = append(out, "removes "+a.String())
	}
	if more := len(r.unlisted) - maxDescribed; more > 0 {
		out = append(out, fmt.Sprintf("removes %d more", more))
	}
	return strings.Join(out, "; ")
}

// contains reports whether all associations of another removal are in this one.
func (r removal) contains(other removal) bool {
	return !slices.ContainsFunc(other.unlisted, func(a Association) bool { return !slices.Contains(r.unlisted, a) })
}
