package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
)

// env is a store with a Controller "team/slurm", its keys, and a reconciler.
type env struct {
	t          *testing.T
	store      *kubetest.Store
	reconciler *Reconciler
	recorder   *events.FakeRecorder
	// agent is what the agent of every pod says.
	agent configagent.Status
}

func newEnv(t *testing.T, objects ...client.Object) *env {
	t.Helper()
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm", UID: "uid-slurm",
		Generation: 1}}
	c.Spec.SlurmKeyRef, c.Spec.JWTKeyRef = keyOf("auth", "slurm.key"), keyOf("jwt", "jwt.key")
	objects = append(objects, newSecret("auth", "slurm.key"), newSecret("jwt", "jwt.key"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "uid-team"}})
	e := &env{t: t, recorder: events.NewFakeRecorder(10), store: kubetest.NewStore(t, c, objects...)}
	e.startReconciler(e.store, time.Now)
	return e
}

// startReconciler replaces the reconciler by one of an operator that has just started, with a cache and a clock.
func (e *env) startReconciler(cache client.Client, now func() time.Time) {
	readAgent := func(_ context.Context, podIP string) (configagent.Status, error) {
		if podIP != "10.0.0.7" {
			return configagent.Status{}, errors.New("no route to " + podIP)
		}
		return e.agent, nil
	}
	e.reconciler = New(cache, rightsOfChart{e.store}, readAgent, e.recorder, now, Config{Image: "slurmctld:1",
		AgentImage: "slurm-agent:1"})
}

// rightsOfChart reads what the chart lets the operator read: claims only in a list.
type rightsOfChart struct{ client.Reader }

func (r rightsOfChart) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, is := into.(*corev1.PersistentVolumeClaim); is {
		return apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), key.Name, errors.New("the chart does not grant it"))
	}
	return r.Reader.Get(ctx, key, into, options...)
}

func keyOf(secret, key string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}
}

func jwksOf(configMap, key string) *corev1.ConfigMapKeySelector {
	return &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key}
}

func newSecret(name, key string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: []byte("secret")}}
}

func newConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// get reads an object of the namespace.
func (e *env) get(name string, into client.Object) {
	e.t.Helper()
	if err := e.store.Get(e.t.Context(), client.ObjectKey{Namespace: "team", Name: name}, into); err != nil {
		e.t.Fatal(err)
	}
}

// reconcile reconciles the Controller and returns its condition Ready.
func (e *env) reconcile() metav1.Condition {
	e.t.Helper()
	return e.reconcileFor(v1beta1.ConditionReady)
}

// reconcileFor reconciles the Controller and returns one of its conditions.
func (e *env) reconcileFor(kind string) metav1.Condition {
	e.t.Helper()
	_, err := e.reconciler.Reconcile(e.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team",
		Name: "slurm"}})
	if err != nil {
		e.t.Fatal(err)
	}
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	return *meta.FindStatusCondition(c.Status.Conditions, kind)
}

// addPod creates the pod of slurmctld.
func (e *env) addPod() {
	e.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm-controller-0",
		Labels: names.SlurmctldSelector("slurm")}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "slurm-controller", Controller: new(true)}}
	pod.Status.PodIP = "10.0.0.7"
	if err := e.store.Create(e.t.Context(), pod); err != nil {
		e.t.Fatal(err)
	}
}

// change changes the spec of the Controller.
func (e *env) change(change func(*v1beta1.ControllerSpec)) {
	e.t.Helper()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	change(&c.Spec)
	if err := e.store.Update(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
}

// annotate sets an annotation of the Controller.
func (e *env) annotate(name, value string) {
	e.t.Helper()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[name] = value
	if err := e.store.Update(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
}

// slurmConf returns the slurm.conf that slurmctld's pods mount.
func (e *env) slurmConf() string {
	e.t.Helper()
	config := &corev1.ConfigMap{}
	e.get("slurm-config", config)
	return config.Data["slurm.conf"]
}

func TestReconcileAppliesOnceAndReportsReadiness(t *testing.T) {
	e := newEnv(t)
	if c := e.reconcile(); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without a pod the condition is %+v", c)
	}
	set := &appsv1.StatefulSet{}
	e.get("slurm-controller", set)
	e.get("slurm-controller", &corev1.Service{})
	e.get("slurm-controller-internal", &corev1.Service{})
	if !strings.Contains(e.slurmConf(), "ClusterName=team_slurm\n") {
		t.Errorf("slurm.conf is\n%s", e.slurmConf())
	}
	e.store.Writes = 0
	e.reconcile()
	if e.store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", e.store.Writes)
	}
	set.Status.ReadyReplicas = 1
	if err := e.store.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if c := e.reconcile(); c.Status != metav1.ConditionTrue {
		t.Errorf("with a ready pod the condition is %+v", c)
	}
}

func TestEachOfSeveralSlurmctldsHasAService(t *testing.T) {
	e := newEnv(t)
	setBackups := func(backups int32) {
		t.Helper()
		c := &v1beta1.Controller{}
		e.get("slurm", c)
		c.Spec.HA = &v1beta1.ControllerHA{Enabled: backups > 0, Backups: backups}
		if err := e.store.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		e.reconcile()
	}
	setBackups(2)
	for _, name := range []string{"slurm-controller-0", "slurm-controller-1", "slurm-controller-2"} {
		e.get(name, &corev1.Service{})
	}
	if want := "SlurmctldHost=slurm-controller-2(slurm-controller-2.team)\n"; !strings.Contains(e.slurmConf(), want) {
		t.Errorf("slurm.conf has no %s:\n%s", want, e.slurmConf())
	}
	setBackups(0)
	list := &corev1.ServiceList{}
	if err := e.store.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 {
		t.Errorf("without backups there are %d Services", len(list.Items))
	}
}

func TestReconcileCorrectsWhatOthersChanged(t *testing.T) {
	e := newEnv(t)
	e.reconcile()
	service := &corev1.Service{}
	e.get("slurm-controller", service)
	service.Spec.Selector = map[string]string{"app": "other"}
	service.Annotations["theirs"] = "stays"
	if err := e.store.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	e.reconcile()
	e.get("slurm-controller", service)
	if service.Spec.Selector["app.kubernetes.io/name"] != "slurmctld" || service.Annotations["theirs"] != "stays" {
		t.Errorf("the Service is %+v, %v", service.Spec, service.Annotations)
	}
}

// TestConfigurationHasWhatItRefersTo: users' ConfigMaps, NodeSets, the maxima of autoscalers and the
// Accounting are in the configuration, and a change of them as well.
func TestConfigurationHasWhatItRefersTo(t *testing.T) {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	n.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true, Config: "MaxTime=5"}
	n.Spec.SSH = &v1beta1.NodeSetSSH{Enabled: true}
	foreign := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	foreign.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "other"}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1",
		Kind: "NodeSet", Name: "gpu"}
	hpa.Spec.MaxReplicas = 600
	e := newEnv(t, n, foreign, hpa, &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "acct"}},
		newConfigMap("files", map[string]string{"gres.conf": "AutoDetect=nvml"}),
		newConfigMap("scripts", map[string]string{"a.sh": "#!/bin/sh"}))
	e.change(func(s *v1beta1.ControllerSpec) {
		s.ConfigFileRefs = []corev1.LocalObjectReference{{Name: "files"}}
		s.PrologScriptRefs = []corev1.LocalObjectReference{{Name: "scripts"}}
		s.AccountingRef = &corev1.LocalObjectReference{Name: "acct"}
	})
	e.reconcile()
	text := e.slurmConf()
	for _, line := range []string{"MaxNodeCount=2048", "NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu MaxTime=5",
		"Prolog=a.sh", "AccountingStorageHost=acct-accounting.team", "PrologFlags=Contain"} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("slurm.conf has no line %s:\n%s", line, text)
		}
	}
	if strings.Contains(text, "foreign") {
		t.Errorf("slurm.conf has a NodeSet of another Controller:\n%s", text)
	}
	files := &corev1.ConfigMap{}
	e.get("files", files)
	files.Data["gres.conf"] = "AutoDetect=off"
	if err := e.store.Update(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	e.reconcile()
	config := &corev1.ConfigMap{}
	e.get("slurm-config", config)
	if config.Data["gres.conf"] != "AutoDetect=off" {
		t.Errorf("gres.conf is %q", config.Data["gres.conf"])
	}
}

// TestAProblemLeavesEverythingAsItIs: a slurmctld that runs goes on with what it has.
func TestAProblemLeavesEverythingAsItIs(t *testing.T) {
	conflict := newConfigMap("conflict", map[string]string{"gres.conf": "AutoDetect=off"})
	binary := newConfigMap("binary", nil)
	binary.BinaryData = map[string][]byte{"a": {0}}
	name := func(names ...string) (out []corev1.LocalObjectReference) {
		for _, n := range names {
			out = append(out, corev1.LocalObjectReference{Name: n})
		}
		return out
	}
	for _, tc := range []struct {
		name            string
		change          func(*v1beta1.ControllerSpec)
		reason, message string
	}{
		{"no ConfigMap of the JSON Web Key Set", func(s *v1beta1.ControllerSpec) { s.JWKSKeyRef = jwksOf("gone", "jwks.json") },
			v1beta1.ReasonReferenceNotFound, "spec.jwksKeyRef: there is no ConfigMap gone"},
		{"no key in that ConfigMap", func(s *v1beta1.ControllerSpec) { s.JWKSKeyRef = jwksOf("files", "jwks.json") },
			v1beta1.ReasonReferenceNotFound, "spec.jwksKeyRef: ConfigMap files has no key jwks.json"},
		{"no Secret", func(s *v1beta1.ControllerSpec) { s.SlurmKeyRef.Name = "gone" }, v1beta1.ReasonReferenceNotFound,
			"spec.slurmKeyRef: there is no Secret gone"},
		{"no key in it", func(s *v1beta1.ControllerSpec) { s.JWTKeyRef.Key = "gone" }, v1beta1.ReasonReferenceNotFound,
			"spec.jwtKeyRef: Secret jwt has no key gone"},
		{"no key at all", func(s *v1beta1.ControllerSpec) { s.JWTKeyRef = nil }, v1beta1.ReasonInvalidSpec,
			"spec.jwtKeyRef must be given"},
		{"no Secret with sssd.conf", func(s *v1beta1.ControllerSpec) { s.SSSDConfRef = keyOf("gone", "sssd.conf") },
			v1beta1.ReasonReferenceNotFound, "spec.sssdConfRef: there is no Secret gone"},
		{"no ConfigMap", func(s *v1beta1.ControllerSpec) { s.EpilogScriptRefs = name("gone") },
			v1beta1.ReasonReferenceNotFound, "spec.epilogScriptRefs: there is no ConfigMap gone"},
		{"two files of one name", func(s *v1beta1.ControllerSpec) { s.ConfigFileRefs = name("files", "conflict") },
			v1beta1.ReasonInvalidSpec, "spec.configFileRefs: two ConfigMaps have different files gres.conf"},
		{"binary files", func(s *v1beta1.ControllerSpec) { s.ConfigFileRefs = name("binary") },
			v1beta1.ReasonInvalidSpec, "ConfigMap binary has binary data"},
		{"no Accounting", func(s *v1beta1.ControllerSpec) { s.AccountingRef = &name("gone")[0] },
			v1beta1.ReasonReferenceNotFound, "there is no Accounting gone"},
		{"another ClusterName", func(s *v1beta1.ControllerSpec) { s.ExtraConf = "ClusterName=red" },
			v1beta1.ReasonInvalidSpec, "ClusterName"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t, conflict.DeepCopy(), binary.DeepCopy(),
				newConfigMap("files", map[string]string{"gres.conf": "AutoDetect=nvml"}))
			e.reconcile()
			before, set := e.slurmConf(), &appsv1.StatefulSet{}
			e.get("slurm-controller", set)
			e.change(func(s *v1beta1.ControllerSpec) {
				s.Slurmctld.Raw = []byte(`{"image":"other:1"}`)
				tc.change(s)
			})
			c := e.reconcile()
			if c.Status != metav1.ConditionFalse || c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
			after := &appsv1.StatefulSet{}
			e.get("slurm-controller", after)
			if e.slurmConf() != before || after.ResourceVersion != set.ResourceVersion {
				t.Error("something has changed")
			}
		})
	}
}

func TestObjectsOfOthersStay(t *testing.T) {
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "slurm-controller"}}
	e := newEnv(t, theirs)
	c := e.reconcile()
	if c.Reason != v1beta1.ReasonObjectTaken || !strings.Contains(c.Message, "Service team/slurm-controller exists") {
		t.Errorf("the condition is %+v", c)
	}
	got := &corev1.Service{}
	e.get("slurm-controller", got)
	if len(got.Spec.Ports) > 0 || len(got.OwnerReferences) > 0 {
		t.Errorf("the Service has become %+v", got)
	}
}

func TestAnExternalSlurmctldGetsNoObjects(t *testing.T) {
	e := newEnv(t)
	e.change(func(s *v1beta1.ControllerSpec) {
		s.External, s.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctl", Port: 7000}
	})
	if c := e.reconcile(); c.Reason != v1beta1.ReasonExternal {
		t.Errorf("the condition is %+v", c)
	}
	sets := &appsv1.StatefulSetList{}
	if err := e.store.List(t.Context(), sets); err != nil || len(sets.Items) > 0 {
		t.Errorf("there are %d StatefulSets: %v", len(sets.Items), err)
	}
}

// TestConfigAppliedFollowsTheAgent: the operator brings a revision to the pods, and says what their
// agents make of it.
func TestConfigAppliedFollowsTheAgent(t *testing.T) {
	e := newEnv(t)
	e.addPod()
	if c := e.reconcileFor(v1beta1.ConditionConfigApplied); c.Reason != v1beta1.ReasonApplying {
		t.Errorf("before the agent has seen it: %+v", c)
	}
	config, pod := &corev1.ConfigMap{}, &corev1.Pod{}
	e.get("slurm-config", config)
	first := config.Data["slurmtide.revision"]
	e.get("slurm-controller-0", pod)
	if first == "" || pod.Annotations[v1beta1.AnnotationSlurmConfigHash] != first {
		t.Errorf("the revision is %q, and the pod has %v", first, pod.Annotations)
	}
	e.reconcile()
	again := &corev1.Pod{}
	if e.get("slurm-controller-0", again); again.ResourceVersion == pod.ResourceVersion {
		t.Error("the kubelet is not asked again, although the agent has not seen the revision")
	}
	e.agent = configagent.Status{Wanted: first, Applied: first}
	if c := e.reconcileFor(v1beta1.ConditionConfigApplied); c.Status != metav1.ConditionTrue {
		t.Errorf("after it: %+v", c)
	}
	e.store.Writes = 0
	if e.reconcile(); e.store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", e.store.Writes)
	}
	e.change(func(s *v1beta1.ControllerSpec) { s.ExtraConf = "Nonsense=1" })
	e.reconcile()
	e.get("slurm-config", config)
	second := config.Data["slurmtide.revision"]
	e.agent = configagent.Status{Wanted: second, Applied: first, Error: "unrecognized key: Nonsense"}
	c := e.reconcileFor(v1beta1.ConditionConfigApplied)
	if second == first || c.Reason != v1beta1.ReasonRefused || !strings.Contains(c.Message, "Nonsense") ||
		!strings.Contains(c.Message, first+" stays in force") {
		t.Errorf("after a refusal of %s: %+v", second, c)
	}
	for _, want := range []string{"Normal ConfigApplied revision " + first, "Warning ConfigRefused revision " + second} {
		select {
		case got := <-e.recorder.Events:
			if !strings.HasPrefix(got, want) {
				t.Errorf("the event is %q, not %q", got, want)
			}
		default:
			t.Errorf("there is no event %q", want)
		}
	}
}

// TestSlurmctldOutlivesAControllerWhoseNodeSetsHaveWorkers: nothing drains without it.
func TestSlurmctldOutlivesAControllerWhoseNodeSetsHaveWorkers(t *testing.T) {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	n.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	n.Status.Replicas = 1
	e := newEnv(t, n)
	e.reconcile()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	if err := e.store.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ready := e.reconcile()
	if ready.Reason != v1beta1.ReasonWaitingForNodeSets || !strings.Contains(ready.Message, "NodeSet gpu") {
		t.Errorf("the condition is %+v", ready)
	}
	set := &appsv1.StatefulSet{}
	e.get("slurm-controller", set)
	if len(set.OwnerReferences) != 2 || set.OwnerReferences[1].Kind != "Namespace" {
		t.Errorf("its owners are %+v", set.OwnerReferences)
	}
	n.Status.Replicas = 0
	if err := e.store.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team", Name: "slurm"}}
	if _, err := e.reconciler.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if err := e.store.Get(t.Context(), client.ObjectKeyFromObject(set), set); !apierrors.IsNotFound(err) {
		t.Errorf("the StatefulSet is still there: %v", err)
	}
	if err := e.store.Get(t.Context(), request.NamespacedName, c); !apierrors.IsNotFound(err) {
		t.Errorf("the Controller is still there: %v", err)
	}
}

func TestReconcilerKilledAtEveryWrite(t *testing.T) {
	reconcile := func(s *kubetest.Store) error {
		kubetest.AnswerLookups(t, s, outputs)
		kubetest.RollOut(t, s)
		read := func(context.Context, string) (configagent.Status, error) { return configagent.Status{}, nil }
		r := New(s, s, read, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "slurmctld:1", AgentImage: "agent:1"})
		_, err := r.Reconcile(t.Context(), kubetest.Request("slurm"))
		return err
	}
	for _, tc := range []struct {
		name    string
		prepare func(e *env)
	}{
		{"applied", func(*env) {}},
		{"with new keys", func(e *env) { e.requestKeys() }},
		{"a backup less", func(e *env) {
			e.change(func(s *v1beta1.ControllerSpec) { s.HA = &v1beta1.ControllerHA{Enabled: true, Backups: 1} })
			e.reconcile()
			e.change(func(s *v1beta1.ControllerSpec) { s.HA = nil })
		}},
		{"another image", func(e *env) {
			e.setImage("slurm:24.11")
			e.reconcile()
			e.setImage("slurm:26.05")
		}},
		{"deleted", func(e *env) {
			e.reconcile()
			c := &v1beta1.Controller{}
			e.get("slurm", c)
			if err := e.store.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
				e := newEnv(t, newAccounting("26.05"))
				e.reconciler.now = kubetest.Noon
				tc.prepare(e)
				e.store.Writes = 0
				return e.store
			}, reconcile)
		})
	}
}
