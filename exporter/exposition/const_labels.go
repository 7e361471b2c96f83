package exposition

import (
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// ConstLabels are labels that are added to every sample, before its own.
type ConstLabels struct {
	pairs []*dto.LabelPair // sorted by name
	// text is the beginning of a sample's labels, such as `cluster="a",`.
	text string
}

// NewConstLabels returns the labels, sorted by name.
func NewConstLabels(labels map[string]string) ConstLabels {
	var out ConstLabels
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		value := labels[name]
		out.pairs = append(out.pairs, &dto.LabelPair{Name: &name, Value: &value})
		text = append(appendLabel(append(text, name+`="`...), value), `",`...)
	}
	out.text = string(text)
	return out
}

// rename returns the name of a family's own label. If a constant label has the same name, it adds a prefix, such as
// slurm_cluster for the cluster's name in Slurm.
func (c ConstLabels) rename(label string) string {
	for _, p := range c.pairs {
		if p.GetName() == label {
			return "slurm_" + label
		}
	}
	return label
}

// addTo adds the labels to every sample of the family. It does not write to label slices that
// samples share with other families.
func (c ConstLabels) addTo(f *dto.MetricFamily) {
	if len(c.pairs) == 0 {
		return
	}
	for _, m := range f.GetMetric() {
		all := append(make([]*dto.LabelPair, 0, len(c.pairs)+len(m.Label)), c.pairs...)
		for _, own := range m.Label {
			name := c.rename(own.GetName())
			all = append(all, &dto.LabelPair{Name: &name, Value: own.Value})
		}
		m.Label = all
	}
}
