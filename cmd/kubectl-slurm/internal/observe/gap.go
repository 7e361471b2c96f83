package observe

import (
	"errors"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Part is a part of what the plugin reads.
type Part string

// The parts.
const (
	// View is view.slinky.slurm.net: jobs, Slurm nodes and partitions.
	View Part = "the view of Slurm (view.slinky.slurm.net)"
	// Metrics is custom.metrics.k8s.io: what NodeSets and partitions need.
	Metrics Part = "the metrics of Slurm (custom.metrics.k8s.io)"
	// Objects are the custom resources.
	Objects Part = "the custom resources (slinky.slurm.net)"
	// Autoscalers are the HPAs.
	HPAs Part = "HorizontalPodAutoscalers"
	// Workers are the pods of NodeSets.
	Workers Part = "the workers' pods"
)

// Explain tells in a line why a part could not be read, and what to do. It does not
// repeat what err says where that adds nothing.
func Explain(p Part, err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return string(p) + " may not be read: " + Said(err) + "; ask for the role " + p.role()
	case apierrors.IsNotFound(err):
		return string(p) + " is not served here: " + p.install()
	case apierrors.IsServiceUnavailable(err):
		return string(p) + " gives no answer: " + Said(err) + "; run kubectl slurm doctor"
	}
	return string(p) + " could not be read: " + Said(err)
}

// role is the cluster role of the charts that gives the rights to a part.
func (p Part) role() string {
	if p == View {
		return "slurm-view"
	}
	return "view"
}

func (p Part) install() string {
	switch p {
	case View:
		return "switch the view of the chart slurm-metrics on (view.enabled=true)"
	case Metrics:
		return "install the chart slurm-metrics"
	case Objects:
		return "install the charts slurm-operator-crds and slurm-operator"
	}
	return "run kubectl slurm doctor"
}

// Said is the API server's text in an error, in one line.
func Said(err error) string {
	var status apierrors.APIStatus
	text := err.Error()
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	return strings.Join(strings.Fields(text), " ")
}

// Hopeless reports an error after which nothing else will be read either: the API
// server is not reached, or does not take the user's word.
func Hopeless(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) || apierrors.IsUnauthorized(err)
}
