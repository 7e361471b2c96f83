package controller

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// A claim that somebody has deleted is made again by Kubernetes, empty and with the same name. So the ConfigMap of slurm.conf
// notes where a state was seen, and slurm-agent starts no slurmctld where it is missing.

// emptyPlace is the value of AnnotationStateMoved that confirms a start without the state of a volume that is no claim.
const emptyPlace = "empty"

// noteState adds slurmconf.StateFile to the ConfigMap among the rendered objects if slurmctld has a state. A confirmation
// counts until the state is seen again: the ConfigMap keeps it as used then.
func (r *Reconciler) noteState(ctx context.Context, c *v1beta1.Controller, objects []podspec.KubeObject) error {
	set, config := statefulSetOf(objects), configMapOf(objects)
	volume := stateVolumeOf(&set.Spec.Template.Spec, set)
	if volume.place() == emptyDir || volume.place() == "" {
		return nil
	}
	first, err := r.firstConfirmation(ctx, c, volume.claim)
	if err != nil {
		return err
	}
	live := &corev1.ConfigMap{}
	found, err := findUncached(ctx, r.Uncached, client.ObjectKeyFromObject(config), live)
	if err != nil {
		return err
	}
	place, _, _ := strings.Cut(live.Data[slurmconf.StateFile], "\n")
	noted := found && metav1.IsControlledBy(live, c) && place == volume.place()
	given, used := confirmationNumber(c.Annotations[v1beta1.AnnotationStateMoved], first), uint64(0)
	if noted {
		used = confirmationNumber(live.Annotations[v1beta1.AnnotationStateMoved], first)
	}
	if !noted || given > used {
		if noted, err = r.hasState(ctx, c, set); err != nil {
			return err
		}
		used = max(used, given)
	}
	if noted {
		config.Data[slurmconf.StateFile] = describeMissingState(c, volume, used)
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, v1beta1.AnnotationStateMoved, fmt.Sprintf("%s-%d", first, used))
	}
	return nil
}

// hasState reports whether an agent sees a state of slurmctld where the StatefulSet that is wanted has it as well.
func (r *Reconciler) hasState(ctx context.Context, c *v1beta1.Controller, want *appsv1.StatefulSet) (bool, error) {
	live := &appsv1.StatefulSet{}
	found, err := findUncached(ctx, r.Uncached, client.ObjectKeyFromObject(want), live)
	if err != nil || !found || stateVolumeOf(&live.Spec.Template.Spec, live) != stateVolumeOf(&want.Spec.Template.Spec, want) {
		return false, err
	}
	release, err := r.agents.StateRelease(ctx, slurmctldOf(c))
	return release.IsKnown(), err
}

// firstConfirmation returns the value of AnnotationStateMoved with which somebody confirms for the first time that slurmctld
// starts without a state: for a claim its UID, which a claim that is made again does not have, and empty while it is missing.
func (r *Reconciler) firstConfirmation(ctx context.Context, c *v1beta1.Controller, claim string) (string, error) {
	if claim == "" {
		return emptyPlace, nil
	}
	list := &corev1.PersistentVolumeClaimList{} // the operator has no right to read a single one
	if err := r.Uncached.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		return "", fmt.Errorf("listing claims: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].Name == claim {
			return string(list.Items[i].UID), nil
		}
	}
	return "", nil
}

// confirmationNumber returns which confirmation a value is: 1 for the first, n for one that ends with -n, 0 for none.
func confirmationNumber(value, first string) uint64 {
	if value == first && first != "" {
		return 1
	}
	text, is := strings.CutPrefix(value, first+"-")
	number, err := strconv.ParseUint(text, 10, 32)
	if !is || first == "" || err != nil {
		return 0
	}
	return number
}

// describeMissingState returns the content of slurmconf.StateFile: the place, and what to do if the state is missing there.
// used is the number of the last confirmation, which counts no more.
func describeMissingState(c *v1beta1.Controller, v stateVolume, used uint64) string {
	value := emptyPlace
	if v.claim != "" {
		value = fmt.Sprintf(`"$(kubectl get persistentvolumeclaim --namespace %s %s -o jsonpath={.metadata.uid})"`, c.Namespace, v.claim)
	}
	if used > 0 {
		value = fmt.Sprintf("%s-%d", value, used+1)
	}
	return fmt.Sprintf("%s\nslurmctld had its state, with all jobs, in %s, where it is missing now. Restore it from a backup: a slurmctld "+
		"without it ends all jobs. To start without any job: kubectl annotate controller --namespace %s %s %s=%s --overwrite",
		v.place(), v, c.Namespace, c.Name, v1beta1.AnnotationStateMoved, value)
}

// configMapOf returns the ConfigMap of slurm.conf among the rendered objects, which always have one.
func configMapOf(objects []podspec.KubeObject) *corev1.ConfigMap {
	for _, object := range objects {
		if config, is := object.(*corev1.ConfigMap); is {
			return config
		}
	}
	return nil
}
