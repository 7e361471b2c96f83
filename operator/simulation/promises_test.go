package simulation

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/releases"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// checkedWrite holds a write of the operator to the promises and does it.
func (w *simulation) checkedWrite(next write, done func(write) error) error {
	w.logf("  %s %s %s%s", next.verb, next.kind, next.name, map[bool]string{true: " (status)"}[next.isStatus])
	w.checkOwner(next)
	switch next.verb {
	case "delete":
		w.checkDeletion(next)
	case "apply":
		w.checkApply(next)
	case "patch":
		w.checkPatch(next)
	}
	if w.restricted && !next.isStatus {
		w.failf("the operator writes %s %s where it may not run daemons", next.kind, next.name)
	}
	if text, err := json.Marshal(next.content); err == nil && next.kind == "ConfigMap" {
		w.checkText("ConfigMap "+next.name, string(text))
	}
	before := w.api.version
	err := done(next)
	if next.verb == "apply" {
		w.recordImages()
	}
	if w.api.version > before && !isSyncRequest(next) {
		w.writes++
	}
	return err
}

// isSyncRequest reports whether a write asks the kubelet to look at the volumes of a pod, which is repeated.
func isSyncRequest(next write) bool {
	return next.verb == "patch" && next.kind == "Pod" && strings.Contains(string(next.data), v1beta1.AnnotationSyncRequested)
}

// checkOwner checks that a write does not touch a foreign object.
func (w *simulation) checkOwner(next write) {
	live := w.api.objects[next.kind][next.name]
	uid, hasUID, _ := unstructured.NestedString(next.content, "metadata", "uid")
	isRefused := live != nil && hasUID && uid != string(live.GetUID())
	if w.theirs[next.kind+"/"+next.name] && next.verb != "create" && live != nil && !isRefused {
		w.failf("%s %s of somebody else is written: %s", next.kind, next.name, next.verb)
	}
}

// checkDeletion checks that a deletion does not touch an object that must be kept.
func (w *simulation) checkDeletion(next write) {
	switch next.kind {
	case "Secret":
		if !w.isReleasedSecret(next.name) {
			w.failf("Secret %s is deleted", next.name)
		}
	case "PersistentVolumeClaim", "Namespace", v1beta1.KindController, "NodeSet":
		w.failf("%s %s is deleted", next.kind, next.name)
	case "Pod":
		if next.object.GetLabels()[v1beta1.LabelAppName] != v1beta1.AppReleaseLookup {
			w.failf("pod %s is deleted", next.name)
		}
	case "StatefulSet":
		if next.name != names.AccountingStatefulSet(dbdName) {
			break
		}
		// slurmdbd is outside now. Its state there, and its release when it returns, are the users' concern: slurmdbd does not start
		// with a newer release's database.
		for _, known := range []map[string]string{w.applied, w.restored} {
			delete(known, v1beta1.KindAccounting)
		}
		for _, known := range []map[string]releases.Release{w.states, w.copies} {
			delete(known, v1beta1.KindAccounting)
		}
		delete(w.hasRun, v1beta1.KindAccounting)
	}
	w.checkTeardown(next.kind, next.name, "the operator")
}

// isReleasedSecret reports whether no daemon of a Controller needs the keys of a rotation in a Secret.
func (w *simulation) isReleasedSecret(name string) bool {
	secret, c := find[*corev1.Secret](w.api, name), find[*v1beta1.Controller](w.api, ctldName)
	return (secret == nil || secret.Annotations[v1beta1.AnnotationRotatedFor] != "") && (c == nil || c.DeletionTimestamp != nil)
}

// checkTeardown holds the deletion of slurmctld to the workers that need it.
func (w *simulation) checkTeardown(kind, name, who string) {
	isSlurmctld := kind == "StatefulSet" && name == names.ControllerStatefulSet(ctldName) && !w.theirs[kind+"/"+name]
	if n := find[*v1beta1.NodeSet](w.api, nodeSet); isSlurmctld && n != nil && n.Status.Replicas > 0 {
		w.failf("%s deletes slurmctld while there are %d workers", who, n.Status.Replicas)
	}
}

// checkApply checks the applied content against the promises about claims, sessions and the order of releases.
func (w *simulation) checkApply(next write) {
	o, err := fromMap(next.kind, next.content)
	if err != nil {
		return // the API server refuses it
	}
	switch o := o.(type) {
	case *appsv1.StatefulSet:
		w.checkRelease(o.Name, &o.Spec.Template)
		kept := o.Spec.PersistentVolumeClaimRetentionPolicy
		if kept != nil && (kept.WhenDeleted != appsv1.RetainPersistentVolumeClaimRetentionPolicyType ||
			kept.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType) {
			w.failf("the claims of %s are not kept: %+v", o.Name, kept)
		}
	case *appsv1.Deployment:
		w.checkRelease(o.Name, &o.Spec.Template)
		w.checkSessions(o)
	}
}

// checkSessions holds a scale-in of login pods to the sessions in them.
func (w *simulation) checkSessions(next *appsv1.Deployment) {
	live := find[*appsv1.Deployment](w.api, next.Name)
	if live == nil || next.Name != names.LoginDeployment(loginName) || *next.Spec.Replicas >= *live.Spec.Replicas ||
		w.cache[v1beta1.KindLoginSet] != nil {
		return
	}
	var free, used []int
	for _, pod := range w.podsOf(live) {
		switch sim := w.pods[pod.Name]; {
		case !sim.started || sim.silent || pod.DeletionTimestamp != nil:
		case sim.sessions == 0:
			free = append(free, costOf(pod))
		default:
			used = append(used, costOf(pod))
		}
	}
	for _, cost := range used {
		for _, other := range free {
			if cost <= other {
				w.failf("a login pod with sessions costs %d, and one without %d", cost, other)
			}
		}
	}
}

// checkPatch checks that a patch only changes the parts of an object that the operator may change.
func (w *simulation) checkPatch(next write) {
	var data struct {
		Metadata map[string]any `json:"metadata"`
		Spec     any            `json:"spec"`
		Status   struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(next.data, &data) != nil {
		w.failf("the patch of %s %s cannot be read", next.kind, next.name)
	}
	delete(data.Metadata, "resourceVersion")
	if next.kind != "Secret" && data.Spec != nil {
		w.failf("the spec of %s %s is changed", next.kind, next.name)
	}
	for _, c := range data.Status.Conditions {
		w.checkText(c.Type, c.Message)
		if c.Reason == "" || c.Message == "" {
			w.failf("%s: the condition %s does not say why it is %s", next.kind, c.Type, c.Status)
		}
	}
}

// checkText checks that a public text contains no secret.
func (w *simulation) checkText(where, text string) {
	if strings.Contains(text, secretText) {
		w.failf("%s has the content of a Secret: %s", where, text)
	}
}

// checkKeys holds the keys of all daemons to each other.
func (w *simulation) checkKeys() {
	sets := map[string]plan.KeySet{}
	for name, p := range w.pods {
		isUnused := p.daemon == "slurmdbd" && !w.isInCluster(v1beta1.KindAccounting) // no daemon uses it
		if p.started && p.daemon != "slurmrestd" && w.pods[name] != nil && !isUnused {
			sets[p.keys], _ = plan.ParseKeySet(p.keys)
		}
	}
	for _, a := range sets {
		for _, b := range sets {
			if !a.Accepts(b) {
				w.failf("a daemon with the keys %q does not accept one with %q", a, b)
			}
		}
	}
}

// objectOf returns the current object of the users, or nil.
func (w *simulation) objectOf(kind string) client.Object {
	return w.api.objects[kind][objectNames[kind]]
}
