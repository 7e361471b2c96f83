package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// A StatefulSet finds its claim by the name. Where another operator gave it another name, ours would start slurmctld
// without the state of the one that ran before: all jobs would be lost. So it starts none.

// stateVolume is where a slurmctld keeps its state: a claim, and a folder in it.
type stateVolume struct{ claim, folder string }

// stateEvidence says where slurmctld's state may be. The first of these that is there counts.
type stateEvidence struct {
	// set is the StatefulSet, and pod its first pod.
	set *appsv1.StatefulSet
	pod *corev1.Pod
	// claims are those of the namespace.
	claims []corev1.PersistentVolumeClaim
}

// checkState returns a *problem.Error if the StatefulSet that is wanted would start slurmctld without the state of the
// one that another operator made.
func checkState(want *appsv1.StatefulSet, has stateEvidence) error {
	wanted := stateVolumeOf(&want.Spec.Template.Spec, want)
	if wanted.claim == "" {
		return nil
	}
	var found stateVolume
	switch {
	case has.set != nil:
		found = stateVolumeOf(&has.set.Spec.Template.Spec, has.set)
	case has.pod != nil:
		found = stateVolumeOf(&has.pod.Spec, want)
	default:
		found.claim = otherClaimOf(want, wanted.claim, has.claims)
	}
	if found.claim == "" || found == wanted {
		return nil
	}
	return problem.New(v1beta1.ReasonStateElsewhere, "the state of slurmctld, with all jobs, is in %s, and this operator "+
		"would start slurmctld with %s, without any job. Give the volume to a claim of that name; "+
		"docs/migrate-from-slinky.md says how", found, wanted)
}

// String returns the volume for a message.
func (v stateVolume) String() string {
	if v.folder == "" {
		return "claim " + v.claim
	}
	return fmt.Sprintf("folder %s of claim %s", v.folder, v.claim)
}

// stateVolumeOf returns where a slurmctld of a pod keeps its state, nothing if that is no claim. set is that of the pod.
func stateVolumeOf(pod *corev1.PodSpec, set *appsv1.StatefulSet) stateVolume {
	for _, container := range pod.Containers {
		for _, mount := range container.VolumeMounts {
			if strings.TrimSuffix(mount.MountPath, "/") == slurmconf.StateDir {
				return stateVolume{claimOf(mount.Name, pod, set), mount.SubPath}
			}
		}
	}
	return stateVolume{}
}

// claimOf returns the claim of a volume of the first pod of a StatefulSet, empty if it has none.
func claimOf(volume string, pod *corev1.PodSpec, set *appsv1.StatefulSet) string {
	for _, v := range pod.Volumes {
		if v.Name == volume && v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	if slices.ContainsFunc(set.Spec.VolumeClaimTemplates,
		func(t corev1.PersistentVolumeClaim) bool { return t.Name == volume }) {
		return volume + claimSuffix(set)
	}
	return ""
}

// claimSuffix ends the names of the claims of the first pod of a StatefulSet.
func claimSuffix(set *appsv1.StatefulSet) string { return "-" + set.Name + "-0" }

// otherClaimOf returns a claim that an earlier StatefulSet of the name has left while the wanted claim does not exist,
// empty for none.
func otherClaimOf(set *appsv1.StatefulSet, wanted string, claims []corev1.PersistentVolumeClaim) string {
	out := ""
	for i := range claims {
		claim := &claims[i]
		instance, labelled := claim.Labels[v1beta1.LabelAppInstance]
		switch {
		case claim.Name == wanted:
			return ""
		case labelled && instance != set.Labels[v1beta1.LabelAppInstance]: // of another Controller, such as "a-NAME"
		case strings.HasSuffix(claim.Name, claimSuffix(set)):
			out = max(out, claim.Name) // the same one each time
		}
	}
	return out
}

// checkStateOf reads where the state of a Controller's slurmctld may be, and is checkState for the StatefulSet among the
// rendered objects. One that this operator has made is as wanted.
func (r *Reconciler) checkStateOf(ctx context.Context, objects []podspec.KubeObject) error {
	for _, object := range objects {
		want, ok := object.(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		has, err := r.findState(ctx, client.ObjectKeyFromObject(want))
		if err != nil || has.set != nil && has.set.Annotations[v1beta1.AnnotationAppliedHash] != "" {
			return err
		}
		return checkState(want, has)
	}
	return nil
}

// findState reads past the cache, which holds only some objects, what says where slurmctld's state may be.
func (r *Reconciler) findState(ctx context.Context, key client.ObjectKey) (stateEvidence, error) {
	set, pod, claims := &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaimList{}
	if found, err := findUncached(ctx, r.Uncached, key, set); found || err != nil {
		return stateEvidence{set: set}, err
	}
	first := client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-0"}
	if found, err := findUncached(ctx, r.Uncached, first, pod); found || err != nil {
		return stateEvidence{pod: pod}, err
	}
	if err := r.Uncached.List(ctx, claims, client.InNamespace(key.Namespace)); err != nil {
		return stateEvidence{}, fmt.Errorf("listing claims: %w", err)
	}
	return stateEvidence{claims: claims.Items}, nil
}

// findUncached reads an object past the cache, and reports whether there is one.
func findUncached(ctx context.Context, from client.Reader, key client.ObjectKey, into client.Object) (bool, error) {
	err := from.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("reading %T %s: %w", into, key, err)
	}
	return true, nil
}
