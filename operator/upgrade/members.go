package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// Object is an object whose daemon has a release of Slurm: a Controller, Accounting, RestApi, LoginSet or NodeSet.
type Object interface {
	client.Object
	ConditionsOf() *[]metav1.Condition
	ReleaseStatusOf() (*v1beta1.ReleaseStatus, *[]metav1.Condition)
}

// subject is an object with what its kind says of its daemon.
type subject struct {
	object Object
	kind   string
	daemon releases.Daemon
	// container is that of the daemon in the pods of the workload.
	container string
	// isExternal says that the daemon runs outside of the operator's control.
	isExternal bool
}

// subjectOf returns the subject of an object.
func subjectOf(object Object) subject {
	switch o := object.(type) {
	case *v1beta1.Accounting:
		return subject{o, v1beta1.KindAccounting, releases.Slurmdbd, "slurmdbd", o.Spec.External}
	case *v1beta1.Controller:
		return subject{o, v1beta1.KindController, releases.Slurmctld, "slurmctld", o.Spec.External}
	case *v1beta1.RestApi:
		return subject{o, v1beta1.KindRestApi, releases.Slurmrestd, "slurmrestd", false}
	case *v1beta1.NodeSet:
		return subject{o, v1beta1.KindNodeSet, releases.Slurmd, "slurmd", false}
	}
	return subject{object, v1beta1.KindLoginSet, releases.Sackd, "login", false}
}

// inventory is all objects of a namespace that have a release.
type inventory struct {
	controllers v1beta1.ControllerList
	accountings v1beta1.AccountingList
	restAPIs    v1beta1.RestApiList
	loginSets   v1beta1.LoginSetList
	nodeSets    v1beta1.NodeSetList
	// strays are the Controllers of RestApis and LoginSets that refer to none, whose pods go on with the one to which they
	// referred before.
	strays map[client.Object]string
}

// readInventory reads them.
func readInventory(ctx context.Context, reader client.Reader, namespace string) (*inventory, error) {
	out, in := &inventory{}, client.InNamespace(namespace)
	err := errors.Join(reader.List(ctx, &out.controllers, in), reader.List(ctx, &out.accountings, in),
		reader.List(ctx, &out.restAPIs, in), reader.List(ctx, &out.loginSets, in), reader.List(ctx, &out.nodeSets, in))
	if err != nil {
		return nil, fmt.Errorf("listing the daemons of namespace %s: %w", namespace, err)
	}
	return out, nil
}

// othersOf returns the objects whose daemons run in the cluster of an object, or in its clusters if it is an
// Accounting, but not the object itself.
func (v *inventory) othersOf(self Object) []Object {
	var out []Object
	add := func(o Object) {
		isSelf := subjectOf(o).kind == subjectOf(self).kind && o.GetName() == self.GetName()
		// The daemons of an object that is being deleted go on until the finalizer is gone.
		isGone := o.GetDeletionTimestamp() != nil && !kube.HasFinalizer(o, v1beta1.FinalizerSlurmctld) &&
			!kube.HasFinalizer(o, v1beta1.FinalizerDrain)
		if !isSelf && !isGone {
			out = append(out, o)
		}
	}
	accountings, controllers := map[string]bool{}, map[string]bool{}
	for i := range v.controllers.Items {
		c := &v.controllers.Items[i]
		if !isInClusterOf(c, self) {
			continue
		}
		controllers[c.Name] = true
		if c.Spec.AccountingRef != nil {
			accountings[c.Spec.AccountingRef.Name] = true
		}
		add(c)
	}
	for i := range v.accountings.Items {
		if a := &v.accountings.Items[i]; accountings[a.Name] {
			add(a)
		}
	}
	for i := range v.restAPIs.Items {
		if r := &v.restAPIs.Items[i]; controllers[cmp.Or(v.strays[r], r.Spec.ControllerRef.Name)] {
			add(r)
		}
	}
	for i := range v.loginSets.Items {
		if l := &v.loginSets.Items[i]; controllers[cmp.Or(v.strays[l], l.Spec.ControllerRef.Name)] {
			add(l)
		}
	}
	for i := range v.nodeSets.Items {
		if n := &v.nodeSets.Items[i]; controllers[controllerOf(n)] {
			add(n)
		}
	}
	return out
}

// controllerOf returns the name of the Controller that a NodeSet joins, or "" if it joins none.
func controllerOf(n *v1beta1.NodeSet) string {
	if n.Spec.ControllerRef == nil {
		return ""
	}
	return n.Spec.ControllerRef.Name
}

// isInClusterOf reports whether a slurmctld is that of an object, or reports to it.
func isInClusterOf(c *v1beta1.Controller, self Object) bool {
	switch self := self.(type) {
	case *v1beta1.Controller:
		return c.Name == self.Name
	case *v1beta1.Accounting:
		return c.Spec.AccountingRef != nil && c.Spec.AccountingRef.Name == self.Name
	case *v1beta1.RestApi:
		return c.Name == self.Spec.ControllerRef.Name
	case *v1beta1.LoginSet:
		return c.Name == self.Spec.ControllerRef.Name
	case *v1beta1.NodeSet:
		return c.Name == controllerOf(self)
	}
	return false
}

// membersOf returns the daemons of other objects that matter for one, and reports whether one of them waits to know
// its release. Daemons that run elsewhere, or not yet, are none of them.
func membersOf(daemon releases.Daemon, others []Object) (members []releases.Member, isAsked bool) {
	for _, o := range others {
		other := subjectOf(o)
		status, conditions := o.ReleaseStatusOf()
		if other.isExternal || status.Image == "" || !daemon.TalksTo(other.daemon) {
			continue
		}
		m := releases.Member{Daemon: other.daemon, Name: other.kind + " " + o.GetName(), Release: parse(status.Release)}
		m.IsLost = !m.Release.IsKnown() && reasonIn(*conditions) == v1beta1.ReasonLookupFailed
		next, isWaiting := parse(status.ReleaseOf(status.NextImage)), status.NextImage != ""
		isGiven := isWaiting && meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionReleaseAllowed)
		isAsked = isAsked || isWaiting
		if status.NeverRan {
			if !isGiven {
				continue
			}
			m.Release = next
		}
		// While pods get another image, there are some of it already, and maybe some of an image that it was to be before.
		if isGiven {
			includeRelease(&m, next)
		}
		for _, image := range givenImages(status) {
			includeRelease(&m, parse(status.ReleaseOf(image)))
		}
		members = append(members, m)
	}
	return members, isAsked
}

// includeRelease counts pods of another release among those of a member. What is not known stays so.
func includeRelease(m *releases.Member, other releases.Release) {
	if !other.IsKnown() || !m.Release.IsKnown() {
		return
	}
	m.Newest = cmp.Or(m.Newest, m.Release)
	if m.Newest.Compare(other) < 0 {
		m.Newest = other
	}
	if m.Release.Compare(other) > 0 {
		m.Release = other
	}
}
