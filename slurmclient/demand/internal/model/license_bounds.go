package model

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// boundLicenses returns two maps: the number of each license that jobs can have at the same time, by "license/" and its name, and the names
// of hierarchical resources (resources.yaml(5)). For a hierarchical resource it adds up the layers. It leaves out a layer whose nodes are
// all in another one, because a job takes from both.
func boundLicenses(list []slurm.License) (bounds map[string]uint64, layered map[string]bool) {
	bounds, layered = map[string]uint64{}, map[string]bool{}
	layers := map[string][]licenseLayer{}
	for _, l := range list {
		free := saturating.Sub(l.Total, l.Reserved+l.Deficit)
		if l.Nodes == "" {
			bounds["license/"+l.Name] = free
			continue
		}
		layered[l.Name] = true
		names, err := hostlist.Expand(l.Nodes)
		if err != nil {
			names = []string{l.Nodes}
		}
		layers[l.Name] = append(layers[l.Name], licenseLayer{free, names})
	}
	for name, of := range layers {
		slices.SortStableFunc(of, func(a, b licenseLayer) int { return len(b.nodes) - len(a.nodes) })
		var outer []licenseLayer
		for _, layer := range of {
			if !slices.ContainsFunc(outer, layer.isInside) {
				outer = append(outer, layer)
				bounds["license/"+name] += layer.free
			}
		}
	}
	return bounds, layered
}

// licenseLayer is one layer of a hierarchical resource.
type licenseLayer struct {
	free  uint64
	nodes []string
}

func (l licenseLayer) isInside(outer licenseLayer) bool {
	has := map[string]bool{}
	for _, name := range outer.nodes {
		has[name] = true
	}
	return !slices.ContainsFunc(l.nodes, func(name string) bool { return !has[name] })
}
