package view

import (
	"cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Directory lists the Slurm clusters. Its methods do not block.
type Directory interface {
	// Sources returns the clusters, sorted by Ref, or an error if they are not known yet.
	Sources() ([]Source, error)
	// Changed returns a channel that is closed when the sources or their snapshots change.
	Changed() <-chan struct{}
}

// Source is a Slurm cluster.
type Source struct {
	Ref ClusterRef
	// Settings are the sources of PrivateData other than slurmctld.
	Settings Settings
	// Snapshot returns the newest snapshot, or an error that says why there is none. It does
	// not block.
	Snapshot func() (*slurmclient.Snapshot, error)
}

// privateData returns the PrivateData of the cluster, or false if it is not known yet. snapshot
// is nil if there is none.
func (s Source) privateData(snapshot *slurmclient.Snapshot) (PrivateData, bool) {
	var conf slurmclient.Reading[*slurm.Conf]
	if conf.Enabled = true; snapshot != nil {
		conf = snapshot.Conf
	}
	return PrivateDataOf(s.Settings, conf)
}

// ClusterRef identifies the object that represents a Slurm cluster. The view's objects are in
// its namespace. Kind is Controller, Cluster, or empty if there is no such object.
type ClusterRef struct{ Kind, Namespace, Name string }

// Compare orders references by namespace, name and kind.
func (h ClusterRef) Compare(other ClusterRef) int {
	return cmp.Or(cmp.Compare(h.Namespace, other.Namespace), cmp.Compare(h.Name, other.Name),
		cmp.Compare(h.Kind, other.Kind))
}

// String returns the namespace and name.
func (h ClusterRef) String() string { return h.Namespace + "/" + h.Name }

// prefix returns the beginning of the cluster's object names. If a Cluster and a Controller of
// one namespace have the same name, the names of the Cluster's objects begin with its kind. No
// Cluster or Controller has a name with a colon.
func (h ClusterRef) prefix(shared nameSharing) string {
	if shared == sharedName && h.Kind == "Cluster" {
		return "cluster:" + h.Name + "."
	}
	return h.Name + "."
}

// nameSharing is whether two clusters have the same namespace and name.
type nameSharing int

const (
	uniqueName nameSharing = iota
	sharedName
)

// nameSharingOf returns for each of the sorted sources whether it shares its name.
func nameSharingOf(sources []Source) []nameSharing {
	out := make([]nameSharing, len(sources))
	for i := 1; i < len(sources); i++ {
		a, b := sources[i-1].Ref, sources[i].Ref
		if a.Namespace == b.Namespace && a.Name == b.Name {
			out[i-1], out[i] = sharedName, sharedName
		}
	}
	return out
}
