package exporter

import (
	dto "github.com/prometheus/client_model/go"
)

// constLabels are labels that every sample has, before its own.
type constLabels struct {
	pairs []*dto.LabelPair // sorted by name
	// text is the labels as a sample begins with them, such as `cluster="a",`.
	text string
}

func newConstLabels(labels map[string]string) constLabels {
	var out constLabels
	var text []byte
	for _, name := range sorted(labels) {
		value := labels[name]
		out.pairs = append(out.pairs, &dto.LabelPair{Name: &name, Value: &value})
		text = append(appendLabel(append(text, name+`="`...), value), `",`...)
	}
	out.text = string(text)
	return out
}

// rename returns the name for a family's own label: with a prefix where it would be
// that of a constant one, such as slurm_cluster for Slurm's own name of the cluster.
func (c constLabels) rename(label string) string {
	for _, p := range c.pairs {
		if p.GetName() == label {
			return "slurm_" + label
		}
	}
	return label
}

// put gives the labels to every sample of the family. What the samples share with
// others is not written to.
func (c constLabels) put(f *dto.MetricFamily) {
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
