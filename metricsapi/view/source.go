package view

import (
	"cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Directory tells which Slurm clusters there are. Its methods do not block.
type Directory interface {
	// Sources lists the clusters, sorted by Home. It is an error when they are not known.
	Sources() ([]Source, error)
	// Changed returns a channel that is closed when Sources, or what they read, is
	// something else than before.
	Changed() <-chan struct{}
}

// Source is a Slurm cluster.
type Source struct {
	Home Home
	// Settings tell, beside slurmctld, what Slurm keeps from users that it is not about.
	Settings Settings
	// Snapshot returns what was last read, or why nothing was. It does not block.
	Snapshot func() (*slurmclient.Snapshot, error)
}

// private is what is private as of the snapshot, nil for none; false while that is not
// known yet.
func (s Source) private(snapshot *slurmclient.Snapshot) (Private, bool) {
	var conf slurmclient.Reading[*slurm.Conf]
	if conf.Enabled = true; snapshot != nil {
		conf = snapshot.Conf
	}
	return PrivateOf(s.Settings, conf)
}

// Home is the object that stands for a Slurm cluster, in whose namespace the cluster's
// objects are. Kind is Controller, Cluster, or empty where there is no such object.
type Home struct{ Kind, Namespace, Name string }

// Compare orders homes by namespace, name and kind.
func (h Home) Compare(other Home) int {
	return cmp.Or(cmp.Compare(h.Namespace, other.Namespace), cmp.Compare(h.Name, other.Name), cmp.Compare(h.Kind, other.Kind))
}

// String is the namespace and name.
func (h Home) String() string { return h.Namespace + "/" + h.Name }

// prefix is what the names of the home's objects begin with. A Cluster and a Controller
// of one namespace may have one name; jobs of both would then have one name too, so
// that the Cluster's have its kind in front. A name with a colon is no object's name.
func (h Home) prefix(shared sharing) string {
	if shared == withController && h.Kind == "Cluster" {
		return "cluster:" + h.Name + "."
	}
	return h.Name + "."
}

// sharing tells whether a home shares its namespace and name with another one.
type sharing int

const (
	alone sharing = iota
	withController
)

// sharingOf returns for each of the sorted sources whether it shares its name.
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
