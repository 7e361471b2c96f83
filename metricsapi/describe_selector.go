package metricsapi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"
)

// describeSelector converts a selector to a LabelSelector, nil if it matches everything. It
// omits the operators that a LabelSelector does not have (greater and less than).
func describeSelector(s labels.Selector) *metav1.LabelSelector {
	requirements, _ := s.Requirements()
	if len(requirements) == 0 {
		return nil
	}
	out := &metav1.LabelSelector{}
	add := func(q labels.Requirement, op metav1.LabelSelectorOperator) {
		values := slices.Sorted(slices.Values(q.Values().UnsortedList()))
		out.MatchExpressions = append(out.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: q.Key(), Operator: op, Values: values})
	}
	for _, q := range requirements {
		switch q.Operator() {
		case operator.Equals, operator.DoubleEquals:
			if out.MatchLabels == nil {
				out.MatchLabels = map[string]string{}
			}
			out.MatchLabels[q.Key()] = q.Values().UnsortedList()[0]
		case operator.In:
			add(q, metav1.LabelSelectorOpIn)
		case operator.NotIn, operator.NotEquals:
			add(q, metav1.LabelSelectorOpNotIn)
		case operator.Exists:
			add(q, metav1.LabelSelectorOpExists)
		case operator.DoesNotExist:
			add(q, metav1.LabelSelectorOpDoesNotExist)
		}
	}
	return out
}
