package upgrade

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// findUnrecorded returns the daemons of other objects that matter for one and run although the statuses do not say so
// yet, because the operator was killed in between. Their releases are not known. NodeSets, which
// have no workload, are not among them.
func (g Guard) findUnrecorded(ctx context.Context, reader client.Reader, daemon releases.Daemon, others []Object) ([]releases.Member, error) {
	var out []releases.Member
	for _, o := range others {
		other := subjectOf(o)
		status, _ := o.ReleaseStatusOf()
		if other.isExternal || other.daemon == releases.Slurmd || status.Image != "" || !daemon.TalksTo(other.daemon) {
			continue
		}
		live := newWorkloadOf(o)
		if !g.MayRunIn(o.GetNamespace()) {
			continue
		}
		err := reader.Get(ctx, client.ObjectKeyFromObject(live), live)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the workload of %s %s: %w", other.kind, o.GetName(), err)
		}
		if err == nil && metav1.IsControlledBy(live, o) {
			out = append(out, releases.Member{Daemon: other.daemon, Name: other.kind + " " + o.GetName()})
		}
	}
	return out, nil
}

// newWorkloadOf returns the workload of an object, of which it has only the kind, the namespace and the name.
func newWorkloadOf(object Object) client.Object {
	meta := metav1.ObjectMeta{Namespace: object.GetNamespace()}
	switch o := object.(type) {
	case *v1beta1.Accounting:
		meta.Name = names.AccountingStatefulSet(o.Name)
		return &appsv1.StatefulSet{ObjectMeta: meta}
	case *v1beta1.Controller:
		meta.Name = names.ControllerStatefulSet(o.Name)
		return &appsv1.StatefulSet{ObjectMeta: meta}
	case *v1beta1.RestApi:
		meta.Name = names.RestAPIDeployment(o.Name)
		return &appsv1.Deployment{ObjectMeta: meta}
	}
	meta.Name = names.LoginDeployment(object.GetName())
	return &appsv1.Deployment{ObjectMeta: meta}
}
