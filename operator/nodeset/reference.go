package nodeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// problemError is a problem with an object that a NodeSet refers to.
type problemError struct{ status.Problem }

func (e problemError) Error() string { return e.Message }

func missingReference(format string, args ...any) error {
	return problemError{status.Problem{Reason: v1beta1.ReasonReferenceNotFound, Message: fmt.Sprintf(format, args...)}}
}

// observeReferences finds the cluster that the NodeSet's workers join, and sets the input that they are rendered from. Faults become
// the NodeSet's problem.
func (r *Reconciler) observeReferences(ctx context.Context, s *observation) error {
	unread := r.observeNamespace(ctx, s)
	err := cmp.Or(r.resolveCluster(ctx, s), unread)
	if err == nil {
		err = s.renderTemplate()
	}
	var wrong problemError
	if errors.As(err, &wrong) {
		s.problem = wrong.Problem
		return nil
	}
	return err
}

func (r *Reconciler) resolveCluster(ctx context.Context, s *observation) error {
	s.input = render.Input{NodeSet: s.nodeSet, NamespaceUID: s.namespaceUID, Image: r.cfg.Image,
		ClusterDomain: r.cfg.ClusterDomain}
	spec := &s.nodeSet.Spec
	var joined refs.Slurmctld
	var err error
	switch {
	case spec.ControllerRef != nil:
		s.clusterRef = spec.ControllerRef.Name
		joined, err = r.resolveController(ctx, s, s.clusterRef)
	case spec.ClusterRef != nil:
		s.clusterRef = spec.ClusterRef.Name
		joined, err = r.resolveClusterRef(ctx, s, s.clusterRef)
	default:
		err = problemError{status.Problem{Reason: v1beta1.ReasonInvalidSpec,
			Message: "neither spec.controllerRef nor spec.clusterRef is set"}}
	}
	s.input.Cluster = s.clusterRef
	if err != nil {
		return err
	}
	if joined.Problem != "" {
		return missingReference("%s", joined.Problem)
	}
	s.input.Endpoint, s.input.Slurmctlds, s.input.SlurmKey = joined.Address, joined.Each, joined.Key
	if err := r.checkSSSDConf(ctx, s); err != nil {
		return err
	}
	hash, err := r.keyHash(ctx, s.nodeSet.Namespace, s.input.SlurmKey)
	s.input.Hashes = map[string]string{v1beta1.AnnotationSlurmKeyHash: hash}
	return err
}

// checkSSSDConf returns an error if users may log in to workers, but sssd.conf is missing. A change of its content replaces no worker:
// SSSD is restarted.
func (r *Reconciler) checkSSSDConf(ctx context.Context, s *observation) error {
	if !s.nodeSet.Spec.HasSSH() {
		return nil
	}
	conf := s.input.NodeSet.Spec.SSH.SSSDConfRef
	if conf == nil {
		return problemError{status.Problem{Reason: v1beta1.ReasonInvalidSpec, Message: fmt.Sprintf("spec.ssh.sssdConfRef must be "+
			"given, or spec.sssdConfRef of Controller %s: without it nobody can log in", s.clusterRef)}}
	}
	_, err := r.keyHash(ctx, s.nodeSet.Namespace, *conf)
	return err
}

// withSSSDConf returns a NodeSet with the sssd.conf of its Controller, unless the NodeSet sets its own or needs none.
func withSSSDConf(n *v1beta1.NodeSet, c *v1beta1.Controller) *v1beta1.NodeSet {
	if !n.Spec.HasSSH() || n.Spec.SSH.SSSDConfRef != nil || c.Spec.SSSDConfRef == nil {
		return n
	}
	out := n.DeepCopy()
	out.Spec.SSH.SSSDConfRef = c.Spec.SSSDConfRef.DeepCopy()
	return out
}

// creationHold returns why no worker is created for now, empty for no reason that users must know.
func (s *observation) creationHold() status.Problem {
	if len(s.awaitedGRES) == 0 {
		return status.Problem{}
	}
	return status.Problem{Reason: v1beta1.ReasonWaitingForConfig, Message: fmt.Sprintf("no worker is created yet: slurmctld does not know the "+
		"kinds of GRES %s, and a worker would have none for good; condition ConfigApplied of Controller %s says what its configuration waits for",
		strings.Join(s.awaitedGRES, ", "), s.clusterRef)}
}

// dropUnfoundGRES clears the awaited kinds without gres.conf: nothing adds them to slurm.conf then.
func (r *Reconciler) dropUnfoundGRES(ctx context.Context, s *observation, c *v1beta1.Controller) error {
	files, err := r.readConfigFiles(ctx, c)
	if _, has := files[slurmconf.GresFile]; !has {
		s.awaitedGRES = nil
	}
	return err
}

// awaitedGRES returns the NodeSet's kinds of GRES that the configuration in force lacks: slurmctld gives a worker that registers before
// them none, and keeps that (measured: docs/development/slurm.md). If the configuration in force is unknown, it returns nothing.
func awaitedGRES(n *v1beta1.NodeSet, c *v1beta1.Controller) []string {
	if c.Status.GresTypes == nil || c.Spec.External {
		return nil
	}
	return slices.DeleteFunc(slurmconf.GRESKinds(shape.GRESOfNodeSet(n)), func(kind string) bool { return slices.Contains(c.Status.GresTypes, kind) })
}

func (r *Reconciler) resolveController(ctx context.Context, s *observation, name string) (refs.Slurmctld, error) {
	c := &v1beta1.Controller{}
	if err := r.getReference(ctx, s, name, v1beta1.KindController, c); err != nil {
		return refs.Slurmctld{}, err
	}
	s.input.NodeSet = withSSSDConf(s.nodeSet, c)
	s.externalController, s.awaitedGRES = c.Spec.External, awaitedGRES(s.nodeSet, c)
	s.knowsGRES = !c.Spec.External && c.Status.GresTypes != nil && len(s.awaitedGRES) == 0
	if len(s.awaitedGRES) > 0 {
		if err := r.dropUnfoundGRES(ctx, s, c); err != nil {
			return refs.Slurmctld{}, err
		}
	}
	if err := r.observeNames(ctx, s, c); err != nil {
		return refs.Slurmctld{}, err
	}
	if !c.Spec.External {
		s.input.AgentImage = r.cfg.AgentImage
	}
	return refs.ControllerSlurmctld(c), nil
}

func (r *Reconciler) resolveClusterRef(ctx context.Context, s *observation, name string) (refs.Slurmctld, error) {
	c := &v1beta1.Cluster{}
	if err := r.getReference(ctx, s, name, v1beta1.KindCluster, c); err != nil {
		return refs.Slurmctld{}, err
	}
	return refs.ClusterSlurmctld(c), nil
}

func (r *Reconciler) getReference(ctx context.Context, s *observation, name, kind string, into client.Object) error {
	err := r.client.Get(ctx, types.NamespacedName{Namespace: s.nodeSet.Namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return missingReference("%s %s does not exist in namespace %s", kind, name, s.nodeSet.Namespace)
	}
	s.clusterFound = err == nil
	s.clusterOwner = metav1.OwnerReference{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: kind, Name: name,
		UID: into.GetUID()}
	return err
}

// renderTemplate renders the parts that all workers share.
func (s *observation) renderTemplate() error {
	invalid := func(err error) error {
		if err == nil {
			return nil
		}
		return problemError{status.Problem{Reason: v1beta1.ReasonInvalidSpec, Message: err.Error()}}
	}
	var err error
	if s.names, err = names.NewWorkers(s.nodeSet, s.clusterRef); err != nil {
		return invalid(err)
	}
	if s.template, err = render.Template(s.input); err != nil {
		return invalid(err)
	}
	if _, err = render.Claims(s.input, lastIdentity(s.nodeSet)); err != nil {
		return invalid(err)
	}
	s.revision, err = render.RevisionOf(s.input)
	return invalid(err)
}

// lastIdentity returns the worker with the highest ordinal, or any worker in scaling mode DaemonSet. If its names and claims are valid,
// the names and claims of all workers are.
func lastIdentity(n *v1beta1.NodeSet) render.Identity {
	if n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet {
		return render.Identity{KubeNode: "any"}
	}
	return render.Identity{Ordinal: new(max(0, int(scaling.SpecReplicas(n))-1))}
}

// keyReadInterval is the interval of reads of a Secret that workers need: short enough to replace the workers when the Slurm key
// changes.
const keyReadInterval = time.Minute

type cachedKeyHash struct {
	hash string
	at   time.Time
}

// keyHash returns the hash of a key that workers need. Secrets are neither listed nor watched: it reads only this Secret, at most once
// per keyReadInterval.
func (r *Reconciler) keyHash(ctx context.Context, namespace string, ref corev1.SecretKeySelector) (string, error) {
	id := namespace + "/" + ref.Name + "/" + ref.Key
	if had, ok := r.keyHashes.Load(id); ok && r.now().Sub(had.(cachedKeyHash).at) < keyReadInterval {
		return had.(cachedKeyHash).hash, nil
	}
	secret := &corev1.Secret{}
	err := r.uncached.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data[ref.Key]) == 0 {
		return "", missingReference("Secret %s has no key %q, which workers need", ref.Name, ref.Key)
	}
	if err != nil {
		return "", fmt.Errorf("reading Secret %s: %w", ref.Name, err)
	}
	hash := podspec.HashContent(secret.Data[ref.Key])
	r.keyHashes.Store(id, cachedKeyHash{hash, r.now()})
	return hash, nil
}
