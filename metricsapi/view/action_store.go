package view

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ActFunc asks slurmctld for a change. It blocks until slurmctld has answered.
type ActFunc func(ctx context.Context, a Action) error

// actionStore serves one action as a subresource.
type actionStore[T any] struct {
	*store[T]
	verb string
	act  ActFunc
	plan func(verb, user string, spec v1alpha1.SlurmActionSpec, record *T) (Action, error)
	// mayActOn decides whether the user may act on records of others; nil for no such rule.
	mayActOn func(ctx context.Context, h ClusterRef) (bool, error)
}

var (
	_ rest.NamedCreater                   = (*actionStore[slurm.Job])(nil)
	_ rest.SubresourceObjectMetaPreserver = (*subresourceStorage)(nil)
)

// actions returns the storage of each action, by subresource. It is empty if actions are disabled.
func (v *View) actions(a authorizer.Authorizer) map[string]rest.Storage {
	out := map[string]rest.Storage{}
	if v.cfg.Act == nil {
		return out
	}
	nodes, jobs := newStore(v, v.nodes, a), newStore(v, v.jobs, a)
	for _, verb := range []string{v1alpha1.ActionDrain, v1alpha1.ActionResume} {
		out[v1alpha1.Nodes+"/"+verb] = subresource(&actionStore[slurm.Node]{store: nodes, verb: verb, act: v.cfg.Act, plan: planNodeAction})
	}
	for _, verb := range []string{v1alpha1.ActionCancel, v1alpha1.ActionHold, v1alpha1.ActionRelease} {
		out[v1alpha1.Jobs+"/"+verb] = subresource(&actionStore[slurm.Job]{store: jobs, verb: verb, act: v.cfg.Act, plan: planJobAction,
			mayActOn: jobs.guard.mayActOnAll})
	}
	return out
}

// subresourceStorage hides the store of the parent, of which a subresource has only create.
type subresourceStorage struct{ create rest.NamedCreater }

func subresource(create rest.NamedCreater) rest.Storage { return &subresourceStorage{create} }

// New implements rest.Storage.
func (s *subresourceStorage) New() runtime.Object { return &v1alpha1.SlurmAction{} }

// Destroy implements rest.Storage; there is nothing to release.
func (s *subresourceStorage) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate implements rest.SubresourceObjectMetaPreserver: the UID counts.
func (s *subresourceStorage) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool {
	return true
}

// Create implements rest.NamedCreater.
func (s *subresourceStorage) Create(ctx context.Context, name string, o runtime.Object, check rest.ValidateObjectFunc,
	opts *metav1.CreateOptions) (runtime.Object, error) {
	return s.create.Create(ctx, name, o, check, opts)
}

// New implements rest.NamedCreater.
func (s *actionStore[T]) New() runtime.Object { return &v1alpha1.SlurmAction{} }

// Create implements rest.NamedCreater: it carries the action out. An action on what the user may not see is not found.
func (s *actionStore[T]) Create(ctx context.Context, name string, o runtime.Object, check rest.ValidateObjectFunc,
	opts *metav1.CreateOptions) (runtime.Object, error) {
	in, ok := o.(*v1alpha1.SlurmAction)
	info, known := request.UserFrom(ctx)
	if !ok || !known {
		return nil, apierrors.NewBadRequest("the request is no SlurmAction of a user")
	}
	if check != nil {
		if err := check(ctx, o); err != nil {
			return nil, err
		}
	}
	if in.Name != "" && in.Name != name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the SlurmAction is %q, and the one of the path %q", in.Name, name))
	}
	p, record, err := s.findTarget(ctx, name, in.UID)
	if err != nil {
		return nil, err
	}
	if err := s.checkOwner(ctx, name, info.GetName(), p, record); err != nil {
		return nil, err
	}
	a, err := s.plan(s.verb, info.GetName(), in.Spec, record)
	if err != nil {
		return nil, apierrors.NewConflict(v1alpha1.Resource(s.resource.plural), name, err)
	}
	a.Cluster = p.ref
	if opts == nil || !slices.Contains(opts.DryRun, metav1.DryRunAll) {
		if err := s.act(ctx, a); err != nil {
			return nil, s.actionError(name, a, err)
		}
	}
	out := &v1alpha1.SlurmAction{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.KindAction},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.ref.Namespace, Name: name}, Spec: in.Spec}
	out.Status.Message = a.Message()
	return out, nil
}

// findTarget returns the newest record of an object that the user may see, and its cluster. If a UID is given, the object must have it:
// the user has seen that object. Without one the name must be of one object only.
func (s *actionStore[T]) findTarget(ctx context.Context, name string, uid types.UID) (*clusterRecords[T], *T, error) {
	f, err := s.timeline.refresh()
	if err != nil {
		return nil, nil, err
	}
	found, err := s.findMatches(ctx, f, name, math.MaxInt)
	if err != nil {
		return nil, nil, err
	}
	conflict := func(why refusal) error { return apierrors.NewConflict(v1alpha1.Resource(s.resource.plural), name, why) }
	if uid == "" {
		if len(found) > 1 {
			return nil, nil, conflict(refusal(fmt.Sprintf("objects of the clusters %s and %s have this name: set metadata.uid",
				found[0].cluster.ref, found[1].cluster.ref)))
		}
		return found[0].cluster, found[0].record, nil
	}
	for _, m := range found {
		if object, ok := s.resource.newObject(m.cluster.placement(0), m.record).(metav1.Object); ok && object.GetUID() == uid {
			return m.cluster, m.record, nil
		}
	}
	return nil, nil, conflict("no object with this name has the UID " + refusal(uid) + " any more: look again")
}

// checkOwner returns a Forbidden error unless the job is the user's own or the user may act on all jobs. A user who may not do that can
// only cancel: slurmctld takes a hold of the adapter for an administrator's, and releases an administrator's hold for it.
func (s *actionStore[T]) checkOwner(ctx context.Context, name, user string, p *clusterRecords[T], record *T) error {
	if s.mayActOn == nil {
		return nil
	}
	own := s.guard.users.slurmUser(user)
	isOwn := own != "" && s.resource.isOwnedBy(p, record, own)
	if isOwn && s.verb == v1alpha1.ActionCancel {
		return nil
	}
	may, err := s.mayActOn(ctx, p.ref)
	if err != nil || may {
		return err
	}
	why := fmt.Errorf("it is the job of another user, on which only users with the verb %q may act", v1alpha1.VerbActAll)
	if isOwn {
		why = fmt.Errorf("a hold is an administrator's here, so only users with the verb %q may %s: use scontrol %[2]s", v1alpha1.VerbActAll, s.verb)
	}
	return apierrors.NewForbidden(v1alpha1.Resource(s.resource.plural), name, why)
}

// actionError converts an error of slurmctld.
func (s *actionStore[T]) actionError(name string, a Action, err error) error {
	if IsRefusal(err) {
		return apierrors.NewConflict(v1alpha1.Resource(s.resource.plural), name, err)
	}
	text := fmt.Sprintf("asking slurmctld to %s: %v", a.Message(), err)
	var slurmError *slurmclient.Error
	if errors.As(err, &slurmError) && slurmError.Code != slurmclient.CodeUnavailable {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "create", v1alpha1.Resource(""), "", text, 0, true)
	}
	return apierrors.NewServiceUnavailable(text)
}
