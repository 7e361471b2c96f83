package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// names of the objects of the users, by kind.
var objectNames = map[string]string{v1beta1.KindController: ctldName, v1beta1.KindAccounting: dbdName,
	v1beta1.KindRestApi: restName, v1beta1.KindLoginSet: loginName}

func keyOf(secret, key string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}
}

// addObject creates an object of the users if it is missing.
func (w *simulation) addObject(kind string) {
	if w.api.objects[kind][objectNames[kind]] != nil {
		return
	}
	o := newObjects[kind]()
	o.SetNamespace(team)
	o.SetName(objectNames[kind])
	w.setSpec(o)
	w.api.put(o)
}

// setSpec gives an object a valid spec with the wanted image.
func (w *simulation) setSpec(o client.Object) {
	image := v1beta1.Raw{Raw: []byte(`{"image":"` + w.images[kindOf(o)] + `"}`)}
	replicas := int32(1 + w.rand.IntN(3)) //nolint:gosec // at most 3
	switch o := o.(type) {
	case *v1beta1.Controller:
		o.Spec = v1beta1.ControllerSpec{SlurmKeyRef: keyOf(keySecret, keyFile), JWTKeyRef: keyOf(jwtSecret, "jwt.key"),
			AccountingRef: &corev1.LocalObjectReference{Name: dbdName}, Slurmctld: image}
		if replicas == 2 { // without accounting
			o.Spec.AccountingRef = nil
		} else if !w.isInCluster(v1beta1.KindAccounting) {
			w.bringKeys("slurmdbd")
		}
		if replicas > 2 {
			o.Spec.HA = &v1beta1.ControllerHA{Enabled: true, Backups: 1}
			o.Spec.ConfigFileRefs = []corev1.LocalObjectReference{{Name: filesMap}}
		}
	case *v1beta1.Accounting:
		o.Spec = v1beta1.AccountingSpec{SlurmKeyRef: keyOf(keySecret, keyFile), JWTKeyRef: keyOf(jwtSecret, "jwt.key"),
			StorageConfig: &v1beta1.StorageConfig{Host: "mariadb", PasswordKeyRef: *keyOf(dbSecret, "password")}, Slurmdbd: image}
		if replicas > 2 {
			o.Spec.Accounts = &v1beta1.AccountsSpec{ConfigMapRef: v1beta1.AccountsConfigMapRef{Name: acctsMap}}
		}
	case *v1beta1.RestApi:
		o.Spec = v1beta1.RestApiSpec{Slurmrestd: image, Replicas: &replicas}
		o.Spec.ControllerRef.Name = ctldName
	case *v1beta1.LoginSet:
		o.Spec = v1beta1.LoginSetSpec{Login: image, Replicas: &replicas, SSSDConfRef: keyOf(sssdSecret, "sssd.conf")}
		o.Spec.ControllerRef.Name = ctldName
	}
}

// bringKeys makes the kubelet bring the newest keys to the pods of a daemon.
func (w *simulation) bringKeys(daemon string) {
	for _, p := range w.pods {
		if p.daemon == daemon && p.started {
			p.keys = w.writtenKeys()
		}
	}
}

// changeObject changes an object of the users, if it exists.
func (w *simulation) changeObject(kind string, change func(client.Object)) {
	if live := w.api.objects[kind][objectNames[kind]]; live != nil {
		next, _ := live.DeepCopyObject().(client.Object)
		change(next)
		w.api.put(next)
	}
}

// userEvent is something that users do.
func (w *simulation) userEvent() {
	kind := pick(w, kinds...)
	switch w.rand.IntN(18) {
	case 0, 1, 14:
		w.wantImage(kind, pick(w, slurmImages...))
	case 2:
		w.wantOddImage(kind)
	case 3, 15, 16, 17:
		w.upgrade()
	case 4:
		w.logf("a valid spec for %s", kind)
		w.changeObject(kind, w.setSpec)
	case 5, 6:
		w.spoilSpec(kind)
	case 7:
		w.loseReference()
	case 8:
		w.meetSomebodyElse()
	case 9:
		w.rotate()
	case 10:
		w.restoreOrForget(pick(w, v1beta1.KindController, v1beta1.KindAccounting))
	case 11:
		w.deleteSomething()
	case 12:
		w.setWorkers(w.rand.IntN(3))
	case 13:
		w.setExternal()
	}
}

func (w *simulation) wantImage(kind, image string) {
	w.logf("%s is to have image %s", kind, image)
	w.images[kind] = image
	raw := v1beta1.Raw{Raw: []byte(`{"image":"` + image + `"}`)}
	w.changeObject(kind, func(o client.Object) {
		switch o := o.(type) {
		case *v1beta1.Controller:
			o.Spec.Slurmctld = raw
		case *v1beta1.Accounting:
			o.Spec.Slurmdbd = raw
		case *v1beta1.RestApi:
			o.Spec.Slurmrestd = raw
		case *v1beta1.LoginSet:
			o.Spec.Login = raw
		}
	})
}

// upgrade asks for one image for all daemons.
func (w *simulation) upgrade() {
	image := pick(w, slurmImages...)
	for _, kind := range kinds {
		w.wantImage(kind, image)
	}
}

// wantOddImage sets an image whose release the operator cannot look up, unless the object names it.
func (w *simulation) wantOddImage(kind string) {
	image := pick(w, siteImage, siteImage, typoImage)
	w.wantImage(kind, image)
	if image == siteImage && w.chance(60) {
		w.annotate(kind, v1beta1.AnnotationImageReleases, siteImage+"=26.05")
	}
}

// annotate sets an annotation of an object of the users, or removes it if the value is empty.
func (w *simulation) annotate(kind, key, value string) {
	w.changeObject(kind, func(o client.Object) {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		if annotations[key] = value; value == "" {
			delete(annotations, key)
		}
		o.SetAnnotations(annotations)
	})
}

// spoilSpec makes a spec wrong.
func (w *simulation) spoilSpec(kind string) {
	w.logf("the spec of %s is spoilt", kind)
	w.changeObject(kind, func(o client.Object) {
		switch o := o.(type) {
		case *v1beta1.Controller:
			w.spoilController(&o.Spec)
		case *v1beta1.Accounting:
			pick(w, func() { o.Spec.SlurmKeyRef = keyOf("gone", keyFile) }, func() { o.Spec.JWTKeyRef = keyOf("gone", "jwt.key") }, func() { o.Spec.ExtraConf = "DbdHost=x" },
				func() { o.Spec.StorageConfig.Host = "" }, func() { o.Spec.Template.Spec.Raw = []byte(`{"containers":4}`) })()
		case *v1beta1.RestApi:
			pick(w, func() { o.Spec.ControllerRef.Name = "gone" }, func() { o.Spec.Slurmrestd.Raw = []byte(`{"args":"x"}`) },
				func() { o.Spec.TLS = &v1beta1.RestApiTLS{SecretName: jwtSecret} })()
		case *v1beta1.LoginSet:
			pick(w, func() { o.Spec.ControllerRef.Name = "gone" }, func() { o.Spec.Login.Raw = []byte(`{"args":"x"}`) },
				func() { o.Spec.SSSDConfRef = keyOf("gone", "sssd.conf") })()
		}
	})
}

func (w *simulation) spoilController(s *v1beta1.ControllerSpec) {
	pick(w, func() { s.SlurmKeyRef = keyOf("gone", keyFile) }, func() { s.JWTKeyRef = keyOf(jwtSecret, "gone") }, func() { s.ExtraConf = "ClusterName=red" },
		func() { s.ConfigFileRefs = []corev1.LocalObjectReference{{Name: "gone"}} },
		func() { s.AccountingRef = &corev1.LocalObjectReference{Name: "gone"} },
		func() { s.Slurmctld.Raw = []byte(`{"image":4}`) }, func() { s.Template.Spec.Raw = []byte(`{"hostNetwork":true}`) },
		func() { s.Persistence = &v1beta1.ControllerPersistence{} })()
}

// loseReference deletes a Secret or a ConfigMap of the users, or brings them all back.
func (w *simulation) loseReference() {
	all := []string{keySecret, jwtSecret, dbSecret, sssdSecret, filesMap, acctsMap}
	if w.chance(60) {
		for _, name := range all {
			w.restoreReference(name)
		}
		return
	}
	name := pick(w, all...)
	w.logf("%s vanishes", name)
	w.api.remove("Secret", name)
	w.api.remove("ConfigMap", name)
}

// meetSomebodyElse creates foreign objects with the names of the operator's, or deletes them.
func (w *simulation) meetSomebodyElse() {
	for _, theirs := range slices.Sorted(maps.Keys(w.theirs)) {
		kind, name, _ := strings.Cut(theirs, "/")
		if kind != "Secret" && (w.calm || w.chance(50)) {
			w.logf("%s of somebody else goes", theirs)
			w.api.remove(kind, name)
			delete(w.theirs, theirs)
		}
	}
	if w.calm {
		return
	}
	child := pick(w, children...)
	if w.api.objects[child.kind][child.name] == nil {
		w.logf("somebody else makes %s %s", child.kind, child.name)
		o := newObjects[child.kind]()
		o.SetNamespace(team)
		o.SetName(child.name)
		w.theirs[child.kind+"/"+child.name] = true
		w.api.put(o)
	}
}

// rotate asks for another key.
func (w *simulation) rotate() {
	if c := find[*v1beta1.Controller](w.api, ctldName); c != nil && c.DeletionTimestamp == nil {
		value := fmt.Sprint("day-", w.rand.IntN(3))
		w.logf("keys are to be rotated for %s", value)
		w.annotate(v1beta1.KindController, v1beta1.AnnotationRotateKeys, value)
	}
}

// restoreOrForget replaces a daemon's state by an older copy, or removes the annotation, which leaves the copy.
func (w *simulation) restoreOrForget(kind string) {
	image := pick(w, slurmImages...)
	if w.chance(50) || releaseIn(image).Compare(w.states[kind]) > 0 {
		w.annotate(kind, v1beta1.AnnotationRestoredState, "")
		delete(w.restored, kind)
		return
	}
	w.restoreState(kind, image)
}

// restoreState replaces a daemon's state by an older copy, and sets its image. It either follows the documentation, with the daemon
// stopped, or restarts the daemon itself, which converts the copy. It reports whether the daemon was stopped.
func (w *simulation) restoreState(kind, image string) (isStopped bool) {
	w.logf("a copy of the state of %s from %s is put in place", kind, image)
	value := releaseIn(image).String()
	if w.restored[kind] != value { // it serves once
		w.copies[kind] = releaseIn(image)
	}
	isStopped = w.chance(60)
	w.endDaemon(kind, isStopped)
	w.annotate(kind, v1beta1.AnnotationRestoredState, value)
	w.wantImage(kind, image)
	return isStopped
}

// endDaemon waits until the pods of a daemon are gone. isStopped also scales the StatefulSet to zero. The operator does nothing
// meanwhile.
func (w *simulation) endDaemon(kind string, isStopped bool) {
	name := map[string]string{v1beta1.KindController: names.ControllerStatefulSet(ctldName),
		v1beta1.KindAccounting: names.AccountingStatefulSet(dbdName)}[kind]
	set := find[*appsv1.StatefulSet](w.api, name)
	if set == nil || len(set.Spec.Template.Spec.Containers) == 0 { // a foreign object
		return
	}
	w.logf("%s is ended, and stopped: %t", kind, isStopped)
	change(w.api, name, func(set *appsv1.StatefulSet) {
		set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation}
		if isStopped {
			set.Spec.Replicas = new(int32(0))
		}
	})
	for _, pod := range w.podsOf(set) {
		w.api.remove("Pod", pod.Name)
		delete(w.pods, pod.Name)
	}
	w.counts["a daemon is ended for a copy of its state"]++
}

// deleteSomething deletes an object that the operator has made, or the Controller.
func (w *simulation) deleteSomething() {
	if w.chance(15) {
		w.logf("the Controller is deleted")
		w.api.delete(metav1.NewTime(w.now), v1beta1.KindController, ctldName)
		return
	}
	child := pick(w, children...)
	if !w.theirs[child.kind+"/"+child.name] && w.isRecorded() {
		w.logf("somebody deletes %s %s", child.kind, child.name)
		w.api.delete(metav1.NewTime(w.now), child.kind, child.name)
	}
}

// isRecorded reports whether the statuses of daemons without a state record the running images. If a Deployment is deleted after the
// operator was killed between its first write and the status, its image can no longer be found.
func (w *simulation) isRecorded() bool {
	for _, kind := range []string{v1beta1.KindRestApi, v1beta1.KindLoginSet} {
		if o, isObject := w.objectOf(kind).(upgrade.Object); isObject {
			if status, _ := o.ReleaseStatusOf(); status.Image == "" {
				return false
			}
		}
	}
	return true
}

// forget has a daemon begin again, with a state of its own.
func (w *simulation) forget(kind string) {
	delete(w.states, kind)
	delete(w.hasRun, kind)
	delete(w.applied, kind)
	if kind == v1beta1.KindController {
		w.slurmctld = newSlurmctld()
	}
}

// setExternal has slurmdbd run elsewhere, or here again. Its state is then of no concern to the operator.
func (w *simulation) setExternal() {
	w.changeObject(v1beta1.KindAccounting, func(o client.Object) {
		if a, isAccounting := o.(*v1beta1.Accounting); isAccounting {
			w.logf("slurmdbd is external: %t", !a.Spec.External)
			w.forget(v1beta1.KindAccounting)
			for _, p := range w.pods {
				p.outside = p.outside || p.daemon == "slurmdbd"
			}
			w.setSpec(a)
			if a.Spec.External = !a.Spec.External; a.Spec.External {
				a.Spec.ExternalConfig, a.Spec.Accounts = &v1beta1.ExternalConfig{Host: "dbd"}, nil
			}
		}
	})
}
