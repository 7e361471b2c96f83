package names

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NodeSetNames are the names that a NodeSet has in slurm.conf and in Slurm.
type NodeSetNames struct {
	// Name is the name of the NodeSet in slurm.conf, and of its partition.
	Name, UID string
	Created   time.Time
	// Included reports that slurm.conf lists the NodeSet already, so that jobs may use its partition.
	Included bool
	// Prefix and Padding make the Slurm node names of the ordinals below Bound. Without a prefix, the
	// workers have KubeNames, which are sorted.
	Prefix    string
	Padding   int
	Bound     uint64
	KubeNames []string
	// NamedWhenScheduled reports that the scheduler chooses among the KubeNames, so that no worker can avoid one.
	NamedWhenScheduled bool
}

// CouldName reports whether a worker of the NodeSet could have the Slurm node name.
func (n NodeSetNames) CouldName(name string) bool {
	if n.Prefix == "" {
		_, found := slices.BinarySearch(n.KubeNames, name)
		return found
	}
	ordinal, ok := n.ordinalOf(name)
	return ok && ordinal < n.Bound
}

// ordinalOf returns the ordinal in the Slurm node name of a worker, and whether the NodeSet forms such names.
func (n NodeSetNames) ordinalOf(name string) (uint64, bool) {
	digits, has := strings.CutPrefix(name, n.Prefix)
	if !has || n.Prefix == "" {
		return 0, false
	}
	ordinal, err := strconv.ParseUint(digits, 10, 32)
	return ordinal, err == nil && digits == fmt.Sprintf("%0*d", n.Padding, ordinal)
}

// SharedWorkerName returns why a worker of the NodeSet must not have a Slurm node name, or an empty string if it may. A worker
// of an older NodeSet may get the name, or a worker whose name the scheduler chooses. Two slurmds with one name would end each
// other's jobs. NodeSets whose workers have the names of Kubernetes nodes share no names, since Kubernetes runs one worker on
// each.
func (n NodeSetNames) SharedWorkerName(others []NodeSetNames, name string) string {
	_, formed := n.ordinalOf(name) // once for all NodeSets: names and NodeSets are many
	for _, other := range others {
		isLater := compareAges(other, n) > 0 && !other.NamedWhenScheduled
		if other.UID == n.UID || isLater || other.Prefix == "" && n.Prefix == "" {
			continue
		}
		isSame := other.Prefix == n.Prefix && other.Padding == n.Padding // for any maxima, since both begin at 0
		if isSame && formed || other.CouldName(name) {
			return OwnerNodeSet(other.Name)
		}
	}
	return ""
}

// OwnerNodeSet is the owner of the name of a NodeSet's worker.
func OwnerNodeSet(nodeSet string) string { return "a worker of NodeSet " + nodeSet }

// compareAges orders NodeSets by their creation, the oldest first.
func compareAges(a, b NodeSetNames) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.UID, b.UID), strings.Compare(a.Name, b.Name))
}

// Assignment lists the NodeSets of a slurm.conf, and the names that no worker gets.
type Assignment struct {
	// LeftOut is why NodeSets are left out of slurm.conf, by name.
	LeftOut map[string]string
	// Reserved maps each name that no worker gets to its owner. slurmctld refuses such a Slurm node, and does not start with
	// one in its state.
	Reserved map[string]string
}

// Assign assigns the names of one slurm.conf. static are the owners of the names that users' lines in it give to nodes and node
// sets. A name belongs to the NodeSet that slurm.conf already lists, or else to the oldest. So a new NodeSet is left out if
// another NodeSet's worker has its name, and no worker gets the name of a NodeSet that is listed.
func Assign(nodeSets []NodeSetNames, static map[string]string) Assignment {
	sorted := slices.SortedFunc(slices.Values(nodeSets), func(a, b NodeSetNames) int {
		if a.Included != b.Included {
			return map[bool]int{true: -1, false: 1}[a.Included]
		}
		return compareAges(a, b)
	})
	out := Assignment{LeftOut: map[string]string{}, Reserved: map[string]string{}}
	for name, owner := range static {
		out.Reserved[name] = owner
	}
	for i, n := range sorted {
		if why := n.conflictWith(sorted[:i], static); why != "" {
			out.LeftOut[n.Name] = why
			continue
		}
		out.Reserved[n.Name] = "NodeSet " + n.Name
	}
	return out
}

// conflictWith returns why slurm.conf cannot list the NodeSet. The workers of a NodeSet that is left out
// keep their names.
func (n NodeSetNames) conflictWith(earlier []NodeSetNames, static map[string]string) string {
	switch {
	case strings.EqualFold(n.Name, "all"), strings.EqualFold(n.Name, "default"):
		return fmt.Sprintf("Slurm does not read %s as the name of a partition", n.Name)
	case n.Included:
		return ""
	case static[n.Name] != "" && static[n.Name] != OwnerExtraConf(n.Name):
		return fmt.Sprintf("%s has the name %s", static[n.Name], n.Name)
	}
	for _, other := range earlier {
		if other.CouldName(n.Name) {
			return fmt.Sprintf("a worker of NodeSet %s has, or may get, the name %s", other.Name, n.Name)
		}
	}
	return ""
}

// OwnerExtraConf returns the owner of a name in a NodeSet line of spec.extraConf. The line replaces the line of a NodeSet with
// that name.
func OwnerExtraConf(name string) string { return "the line NodeSet=" + name + " of spec.extraConf" }
