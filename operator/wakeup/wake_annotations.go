package wakeup

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// wakeAnnotations are the parsed annotations of a NodeSet.
type wakeAnnotations struct {
	// wake is WakeAlways, WakeNever or empty.
	wake string
	// zeroAfter is 0 if the annotation is not set.
	zeroAfter time.Duration
	// scalesUpAtOnce is whether the operator does not wait for the next sync of the HPA.
	scalesUpAtOnce bool
}

func parseWakeAnnotations(nodeSet *v1beta1.NodeSet) (wakeAnnotations, error) {
	w := wakeAnnotations{wake: nodeSet.Annotations[v1beta1.AnnotationWake]}
	switch w.wake {
	case "", v1beta1.WakeAlways, v1beta1.WakeNever:
	default:
		return wakeAnnotations{}, fmt.Errorf("the annotation %s is %q: it must be %q or %q",
			v1beta1.AnnotationWake, w.wake, v1beta1.WakeAlways, v1beta1.WakeNever)
	}
	switch up := nodeSet.Annotations[v1beta1.AnnotationScaleUp]; up {
	case "":
	case v1beta1.ScaleUpImmediate:
		w.scalesUpAtOnce = true
	default:
		return wakeAnnotations{}, fmt.Errorf("the annotation %s is %q: it must be %q", v1beta1.AnnotationScaleUp, up,
			v1beta1.ScaleUpImmediate)
	}
	text := nodeSet.Annotations[v1beta1.AnnotationZeroAfter]
	if text == "" {
		return w, nil
	}
	var err error
	if w.zeroAfter, err = time.ParseDuration(text); err != nil || w.zeroAfter <= 0 {
		return wakeAnnotations{}, fmt.Errorf("the annotation %s is %q: it must be a positive duration such as 10m",
			v1beta1.AnnotationZeroAfter, text)
	}
	return w, nil
}
