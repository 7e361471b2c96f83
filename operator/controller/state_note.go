package controller

import (
	"context"
	"fmt"
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

// noteState adds slurmconf.StateFile to the ConfigMap among the rendered objects if slurmctld has a state.
func (r *Reconciler) noteState(ctx context.Context, c *v1beta1.Controller, objects []podspec.KubeObject) error {
	set, config := statefulSetOf(objects), configMapOf(objects)
	volume := stateVolumeOf(&set.Spec.Template.Spec, set)
	if volume.place() == emptyDir || volume.place() == "" {
		return nil
	}
	confirmed, err := r.confirmsEmptyState(ctx, c, volume.claim)
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
	if !noted || confirmed {
		if noted, err = r.hasState(ctx, c, set); err != nil {
			return err
		}
	}
	if noted {
		config.Data[slurmconf.StateFile] = describeMissingState(c, volume)
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

// confirmsEmptyState reports whether somebody has confirmed that slurmctld starts without a state: by the UID of its claim,
// which a claim that is made again does not have.
func (r *Reconciler) confirmsEmptyState(ctx context.Context, c *v1beta1.Controller, claim string) (bool, error) {
	value := c.Annotations[v1beta1.AnnotationStateMoved]
	if claim == "" || value == "" {
		return value == emptyPlace, nil
	}
	live := &corev1.PersistentVolumeClaim{}
	found, err := findUncached(ctx, r.Uncached, client.ObjectKey{Namespace: c.Namespace, Name: claim}, live)
	return found && value == string(live.UID), err
}

// describeMissingState returns the content of slurmconf.StateFile: the place, and what to do if the state is missing there.
func describeMissingState(c *v1beta1.Controller, v stateVolume) string {
	value := emptyPlace
	if v.claim != "" {
		value = fmt.Sprintf(`"$(kubectl get persistentvolumeclaim --namespace %s %s -o jsonpath={.metadata.uid})"`, c.Namespace, v.claim)
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
