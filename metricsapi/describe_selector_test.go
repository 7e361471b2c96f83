package metricsapi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestSelectorsAreDescribedAsTheyMatch(t *testing.T) {
	for _, text := range []string{"partition=a", "partition!=a", "partition in (a,b)", "partition notin (a,b)",
		"partition", "!partition", "partition=a,cluster!=b"} {
		t.Run(text, func(t *testing.T) {
			s := selectorOf(t, text)
			back, err := metav1.LabelSelectorAsSelector(describeSelector(s))
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range []labels.Set{{}, {"partition": "a"}, {"partition": "b", "cluster": "b"},
				{"partition": "c"}, {"partition": "a", "cluster": "c"}} {
				if s.Matches(set) != back.Matches(set) {
					t.Errorf("%v: the description is %v", set, back)
				}
			}
		})
	}
	if describeSelector(labels.Everything()) != nil {
		t.Error("a selector for everything has a description")
	}
}
