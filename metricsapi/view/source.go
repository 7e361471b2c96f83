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
	Home Home
	// Settings are the sources of PrivateData other than slurmctld.
	Settings Settings
	// Snapshot returns the newest snapshot, or an error that says why there is none. It does
	// not block.
	Snapshot func() (*slurmclient.Snapshot, error)
}

// privateData returns the PrivateData of the cluster, or false if it is not known yet. snapshot
// is nil if there is none.
func (s Source) private(snapshot *slurmclient.Snapshot) (Private, bool) {
	var conf slurmclient.Reading[*slurm.Conf]
	if conf.Enabled = true; snapshot != nil {
		conf = snapshot.Conf
	}
	return PrivateOf(s.Settings, conf)
}

// ClusterRef identifies the object that represents a Slurm cluster. The view's objects are in
// its namespace. Kind is Controller, Cluster, or empty if there is no such object.
type Home struct{ Kind, Namespace, Name string }

// Compare orders references by namespace, name and kind.
func (h Home) Compare(other Home) int {
	return cmp.Or(cmp.Compare(h.Namespace, other.Namespace), cmp.Compare(h.Name, other.Name),
		cmp.Compare(h.Kind, other.Kind))
}

// String returns the namespace and name.
func (h Home) String() string { return h.Namespace + "/" + h.Name }

// prefix returns the beginning of the cluster's object names. If a Cluster and a Controller of
// one namespace have the same name, the names of the Cluster's objects begin with its kind. No
// Cluster or Controller has a name with a colon.
func (h Home) prefix(shared sharing) string {
	if shared == withController && h.Kind == "Cluster" {
		return "cluster:" + h.Name + "."
	}
	return h.Name + "."
}

// nameSharing is whether two clusters have the same namespace and name.
type sharing int

const (
	alone sharing = iota
	withController
)

// nameSharingOf returns for each of the sorted sources whether it shares its name.
func sharingOf(sources []Source) []sharing {
	out := make([]sharing, len(sources))
	for i := 1; i < len(sources); i++ {
		a, b := sources[i-1].Home, sources[i].Home
		if a.Namespace == b.Namespace && a.Name == b.Name {
			out[i-1], out[i] = withController, withController
		}
	}
	return out
}
