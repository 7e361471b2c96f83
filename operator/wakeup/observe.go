package wakeup

import (
	"context"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// observation is everything that a plan is based on.
type observation struct {
	nodeSet *v1beta1.NodeSet
	// hpas are the HPAs that scale the NodeSet and are not being deleted.
	hpas    []autoscalingv2.HorizontalPodAutoscaler
	history scalingHistory
	changes replicaChanges
	// demand is nil until it was read.
	demand *demandReading
	// idle is the period in which every reading showed no demand.
	idle idleTime
}

// demandReading is the result of one reading of demand.
type demandReading struct {
	required int64
	at       time.Time
	err      error
}

// observe reads everything but the demand, which is read only if the plan needs it.
func (r *Reconciler) observe(ctx context.Context, nodeSet *v1beta1.NodeSet) (observation, error) {
	var list autoscalingv2.HorizontalPodAutoscalerList
	err := r.client.List(ctx, &list, client.InNamespace(nodeSet.Namespace),
		client.MatchingFields{NodeSetIndex: nodeSet.Name})
	if err != nil {
		return observation{}, fmt.Errorf("listing horizontal pod autoscalers: %w", err)
	}
	key := client.ObjectKeyFromObject(nodeSet)
	out := observation{nodeSet: nodeSet, idle: r.idle.of(nodeSet), history: r.histories.historyOf(key),
		changes: r.histories.changesOf(key)}
	for _, hpa := range list.Items {
		if hpa.DeletionTimestamp.IsZero() {
			out.hpas = append(out.hpas, hpa)
		}
	}
	return out, nil
}

// readDemand reads the demand. An error is an observation too.
func (r *Reconciler) readDemand(ctx context.Context, nodeSet *v1beta1.NodeSet) *demandReading {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	required, at, err := r.demand.RequiredNodes(ctx, nodeSet.Namespace, nodeSet.Name)
	return &demandReading{required: required, at: at, err: err}
}
