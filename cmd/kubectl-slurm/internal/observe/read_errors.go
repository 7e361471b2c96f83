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
	// View is view.slinky.slurm.net with jobs, Slurm nodes and partitions.
	View Part = "the view of Slurm (view.slinky.slurm.net)"
	// Metrics is custom.metrics.k8s.io with the metrics of NodeSets and partitions.
	Metrics Part = "the metrics of Slurm (custom.metrics.k8s.io)"
	// Objects are the custom resources.
	Objects Part = "the custom resources (slinky.slurm.net)"
	// HPAs are the HorizontalPodAutoscalers.
	HPAs Part = "HorizontalPodAutoscalers"
	// Workers are the pods of NodeSets.
	Workers Part = "the workers' pods"
)

// ExplainError says in one line why a part could not be read and what to do.
func ExplainError(p Part, err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return string(p) + ": no permission: " + ServerMessage(err) + "; request the role " + p.clusterRole()
	case apierrors.IsNotFound(err):
		return string(p) + ": not served here: " + p.installHint()
	case apierrors.IsServiceUnavailable(err):
		return string(p) + ": unavailable: " + ServerMessage(err) + "; run kubectl slurm doctor"
	}
	return string(p) + ": cannot be read: " + ServerMessage(err)
}

// clusterRole returns the cluster role of the charts that grants the permissions.
func (p Part) clusterRole() string {
	if p == View {
		return "slurm-view"
	}
	return "view"
}

func (p Part) installHint() string {
	switch p {
	case View:
		return "enable the view of the chart slurm-metrics (view.enabled=true)"
	case Metrics:
		return "install the chart slurm-metrics"
	case Objects:
		return "install the charts slurm-operator-crds and slurm-operator"
	}
	return "run kubectl slurm doctor"
}

// ServerMessage returns the API server's message in an error as one line.
func ServerMessage(err error) string {
	var status apierrors.APIStatus
	text := err.Error()
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	return strings.Join(strings.Fields(text), " ")
}

// IsUnreachable reports whether all further reads would fail too: the API server cannot be reached
// or rejects the user's credentials.
func IsUnreachable(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) || apierrors.IsUnauthorized(err)
}
