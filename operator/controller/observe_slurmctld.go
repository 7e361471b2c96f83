package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/status"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// observeSlurmctld reads what runs: the StatefulSet, its pods and their agents, and the revision of the
// configuration that they should have. It makes the kubelet bring that revision to the pods at once.
func (r *Reconciler) observeSlurmctld(ctx context.Context, c *v1beta1.Controller, into *status.Observation) error {
	set, config := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
	name := names.ControllerStatefulSet(c.Name)
	switch err := r.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, set); {
	case err == nil:
		into.Set = set
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading StatefulSet %s: %w", name, err)
	}
	name = names.ControllerConfigMap(c.Name)
	err := r.uncached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	into.Revision = config.Data[slurmconf.RevisionFile]
	agents := agentpods.Reader{Client: r.client, Uncached: r.uncached, ReadAgent: r.readAgent, Now: r.now,
		FieldOwner: FieldManager}
	into.Agents, err = agents.Read(ctx, c.Namespace, names.SlurmctldSelector(c.Name), into.Revision)
	return err
}
