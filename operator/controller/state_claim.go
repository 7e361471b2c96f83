package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// A slurmctld that starts without the state of the one before knows no job, and ends those that run. So it is started
// only where its state is, or where somebody says that it was moved (AnnotationStateMoved).

// stateVolume is where a slurmctld keeps its state: a claim or another volume, and a folder in it. The zero value is
// unknown.
type stateVolume struct{ claim, other, folder string }

// stateEvidence says where slurmctld's state may be. The first of these that is there counts.
type stateEvidence struct {
	// set is the StatefulSet, and pod its first pod.
	set *appsv1.StatefulSet
	pod *corev1.Pod
	// claims are those of the namespace.
	claims []corev1.PersistentVolumeClaim
}

// checkState returns a *problem.Error if the StatefulSet that is wanted would start slurmctld without the state of the
// one before. movedTo is the value of AnnotationStateMoved.
func checkState(want *appsv1.StatefulSet, has stateEvidence, movedTo string) error {
	wanted := stateVolumeOf(&want.Spec.Template.Spec, want)
	found := has.findVolume(want, wanted)
	if found == (stateVolume{}) || found == wanted || movedTo == wanted.place() {
		return nil
	}
	return problem.New(v1beta1.ReasonStateElsewhere, "the state of slurmctld, with all jobs, is in %s, and this operator "+
		"would start slurmctld with %s, without any job. Change spec.persistence back, or move the state and confirm it: "+
		"kubectl annotate controller --namespace %s %s %s=%s --overwrite. docs/controllers.md says how; "+
		"docs/migrate-from-slinky.md, for a claim of another operator", found, wanted, want.Namespace,
		want.Labels[v1beta1.LabelAppInstance], v1beta1.AnnotationStateMoved, wanted.place())
}

// findVolume returns where the state is, the zero value if there is none.
func (e stateEvidence) findVolume(want *appsv1.StatefulSet, wanted stateVolume) stateVolume {
	var found stateVolume
	switch {
	case e.set != nil:
		found = stateVolumeOf(&e.set.Spec.Template.Spec, e.set)
		if e.set.Annotations[v1beta1.AnnotationAppliedHash] != "" {
			return found
		}
	case e.pod != nil:
		found = stateVolumeOf(&e.pod.Spec, want)
	default:
		return stateVolume{claim: otherClaimOf(want, wanted.claim, e.claims), folder: wanted.folder}.orNone()
	}
	if found.other == emptyDir { // its state ends with the pod, which the other operator made
		return stateVolume{}
	}
	return found
}

// orNone returns the zero value for a volume without a claim.
func (v stateVolume) orNone() stateVolume {
	if v.claim == "" {
		return stateVolume{}
	}
	return v
}

// emptyDir is the volume of a slurmctld without persistence.
const emptyDir = "emptyDir"

// place names the volume in AnnotationStateMoved.
func (v stateVolume) place() string {
	out := cmp.Or(v.claim, v.other)
	if v.folder != "" {
		out += "/" + v.folder
	}
	return out
}

// String returns the volume for a message.
func (v stateVolume) String() string {
	out := "claim " + v.claim
	switch {
	case v.other == emptyDir:
		out = "an empty volume that ends with the pod"
	case v.claim == "":
		out = "volume " + v.other
	}
	if v.folder != "" {
		out = "folder " + v.folder + " of " + out
	}
	return out
}

// stateVolumeOf returns where a slurmctld of a pod keeps its state. set is that of the pod.
func stateVolumeOf(pod *corev1.PodSpec, set *appsv1.StatefulSet) stateVolume {
	for _, container := range pod.Containers {
		for _, mount := range container.VolumeMounts {
			if strings.TrimSuffix(mount.MountPath, "/") != slurmconf.StateDir {
				continue
			}
			out := stateVolume{claim: claimOf(mount.Name, pod, set), folder: cmp.Or(mount.SubPath, mount.SubPathExpr)}
			if out.claim == "" {
				out.other = describeVolume(mount.Name, pod)
			}
			return out
		}
	}
	return stateVolume{}
}

// describeVolume returns what distinguishes a pod's volume that is no claim. The API server adds defaults to most kinds,
// so only three are told apart by their content.
func describeVolume(name string, pod *corev1.PodSpec) string {
	for _, v := range pod.Volumes {
		switch {
		case v.Name != name:
		case v.HostPath != nil:
			return "hostPath:" + v.HostPath.Path
		case v.NFS != nil:
			return "nfs:" + v.NFS.Server + ":" + v.NFS.Path
		case v.CSI != nil:
			return describeCSI(v.CSI)
		case v.EmptyDir == nil:
			return kindOfVolume(v.VolumeSource)
		}
	}
	return emptyDir
}

// describeCSI returns the driver and what it is told of a volume.
func describeCSI(v *corev1.CSIVolumeSource) string {
	var attributes []string
	for _, name := range slices.Sorted(maps.Keys(v.VolumeAttributes)) {
		attributes = append(attributes, name+"="+v.VolumeAttributes[name])
	}
	return "csi:" + v.Driver + ":" + strings.Join(attributes, ",")
}

// kindOfVolume returns the name of the field that says what a volume is, such as "iscsi".
func kindOfVolume(v corev1.VolumeSource) string {
	var fields map[string]any
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil || len(fields) != 1 {
		return "unknown"
	}
	return slices.Collect(maps.Keys(fields))[0]
}

// claimOf returns the claim of a volume of the first pod of a StatefulSet, empty if it has none.
func claimOf(volume string, pod *corev1.PodSpec, set *appsv1.StatefulSet) string {
	// The claims of a StatefulSet take the place of the volumes of its template.
	if slices.ContainsFunc(set.Spec.VolumeClaimTemplates,
		func(t corev1.PersistentVolumeClaim) bool { return t.Name == volume }) {
		return volume + claimSuffix(set)
	}
	for _, v := range pod.Volumes {
		if v.Name == volume && v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// claimSuffix ends the names of the claims of the first pod of a StatefulSet.
func claimSuffix(set *appsv1.StatefulSet) string { return "-" + set.Name + "-0" }

// otherClaimOf returns a claim other than the wanted one in which an earlier slurmctld of the Controller has left its
// state, empty for none. A claim that no slurmctld of ours has used counts only while the wanted one does not exist.
func otherClaimOf(set *appsv1.StatefulSet, wanted string, claims []corev1.PersistentVolumeClaim) string {
	used, left, isThere := "", "", false
	owner := set.Labels[v1beta1.LabelAppInstance]
	for i := range claims {
		claim := &claims[i]
		instance, labelled := claim.Labels[v1beta1.LabelAppInstance]
		switch {
		case claim.Name == wanted:
			isThere = true
		case claim.Annotations[v1beta1.AnnotationStateOf] == owner:
			used = max(used, claim.Name) // the same one each time
		case labelled && instance != owner: // of another Controller, such as "a-NAME"
		case strings.HasSuffix(claim.Name, claimSuffix(set)):
			left = max(left, claim.Name)
		}
	}
	if used != "" || isThere {
		return used
	}
	return left
}

// checkStateOf reads where the state of a Controller's slurmctld may be, and is checkState for the StatefulSet among the
// rendered objects.
func (r *Reconciler) checkStateOf(ctx context.Context, c *v1beta1.Controller, objects []podspec.KubeObject) error {
	want := statefulSetOf(objects)
	has, err := r.findState(ctx, client.ObjectKeyFromObject(want))
	if err != nil {
		return err
	}
	if err := checkState(want, has, c.Annotations[v1beta1.AnnotationStateMoved]); err != nil {
		return err
	}
	claim := stateVolumeOf(&want.Spec.Template.Spec, want).claim
	if err := r.checkStateOwner(ctx, c, claim, has.claims); err != nil {
		return err
	}
	return checkClusterName(names.SlurmClusterName(c), claim, has.claims)
}

// statefulSetOf returns the StatefulSet among the rendered objects, which always have one.
func statefulSetOf(objects []podspec.KubeObject) *appsv1.StatefulSet {
	for _, object := range objects {
		if set, is := object.(*appsv1.StatefulSet); is {
			return set
		}
	}
	return nil
}

// findState reads past the cache, which holds only some objects, what says where slurmctld's state may be.
func (r *Reconciler) findState(ctx context.Context, key client.ObjectKey) (stateEvidence, error) {
	var out stateEvidence
	set, pod, claims := &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaimList{}
	if err := r.Uncached.List(ctx, claims, client.InNamespace(key.Namespace)); err != nil {
		return out, fmt.Errorf("listing claims: %w", err)
	}
	out.claims = claims.Items
	if found, err := findUncached(ctx, r.Uncached, key, set); err != nil {
		return out, err
	} else if found {
		out.set = set
	}
	first := client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-0"}
	if found, err := findUncached(ctx, r.Uncached, first, pod); err != nil {
		return out, err
	} else if found {
		out.pod = pod
	}
	return out, nil
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
