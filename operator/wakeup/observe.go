package wakeup

import (
	"context"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// observation is all that a decision looks at.
type observation struct {
	nodeSet *v1beta1.NodeSet
	// hpas are those that scale the NodeSet and are not being deleted.
	hpas []autoscalingv2.HorizontalPodAutoscaler
	// demand is nil until it was asked for.
	demand *demandReading
	// idle is since when the NodeSet was found without demand at every look.
	idle idleTime
}

// demandReading is what came of one question for demand.
type demandReading struct {
	required int64
	at       time.Time
	err      error
}

// observe reads all but the demand, which is asked for only when it matters.
func (r *Reconciler) observe(ctx context.Context, nodeSet *v1beta1.NodeSet) (observation, error) {
	var list autoscalingv2.HorizontalPodAutoscalerList
	err := r.client.List(ctx, &list, client.InNamespace(nodeSet.Namespace), client.MatchingFields{NodeSetIndex: nodeSet.Name})
	if err != nil {
		return observation{}, fmt.Errorf("listing horizontal pod autoscalers: %w", err)
	}
	out := observation{nodeSet: nodeSet, idle: r.idle.of(nodeSet)}
	for _, hpa := range list.Items {
		if hpa.DeletionTimestamp.IsZero() {
			out.hpas = append(out.hpas, hpa)
		}
	}
	return out, nil
}

// readDemand asks for the demand. That there is no answer is an observation too.
func (r *Reconciler) readDemand(ctx context.Context, nodeSet *v1beta1.NodeSet) *demandReading {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	required, at, err := r.demand.RequiredNodes(ctx, nodeSet.Namespace, nodeSet.Name)
	return &demandReading{required: required, at: at, err: err}
}
