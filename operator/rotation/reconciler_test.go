package rotation

import (
	"cmp"
	"context"
	"crypto/rsa"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// env is a store with a Controller "team/slurm", its Accounting and LoginSet, and their pods.
type env struct {
	t        *testing.T
	store    *kubetest.Store
	recorder *events.FakeRecorder
	// keys are the key sets of daemons, by the addresses of their pods. Daemons without one do not answer.
	keys map[string]string
	// jwtKeys are the keys of auth/jwt that they have.
	jwtKeys map[string]string
	// faults are the faults that agents report, and held what their revisions wait for, by the same addresses.
	faults map[string]string
	held   map[string]*configagent.Held
	// slurm is the reading of the Slurm cluster, and slurmProblem the reason for the lack of a newer one.
	slurm        *slurmclients.Reading
	slurmProblem string
	// newKeyID is the id of the next key, "new" if it is empty.
	newKeyID string
	// forbidden is the name of a Secret that the operator may not read.
	forbidden string
	// again is when the operator looks again, after reconcile.
	again time.Duration
	// later is how long after noon it is.
	later time.Duration
}

func newEnv(t *testing.T, more ...client.Object) *env {
	t.Helper()
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm", UID: "uid-slurm", Generation: 1,
		Annotations: map[string]string{v1beta1.AnnotationRotateKeys: "monday"}}}
	c.Spec.SlurmKeyRef = keyOf("auth")
	a := &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "uid-db"}}
	a.Spec.SlurmKeyRef = keyOf("auth")
	l := &v1beta1.LoginSet{ObjectMeta: metav1.ObjectMeta{Name: "login"}}
	l.Spec.ControllerRef.Name = "slurm"
	auth := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth"},
		Data: map[string][]byte{"slurm.key": []byte("one")}}
	objects := append([]client.Object{a, l, auth, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "uid-team"}},
		newPod("slurm-controller-0", "10.0.0.1", names.SlurmctldSelector("slurm")),
		newPod("db-accounting-0", "10.0.0.2", names.SlurmdbdSelector("db")),
		newPod("w-0", "10.0.0.3", names.WorkerSelector("slurm")),
		newPod("login-x", "10.0.0.4", names.ClusterLoginSelector("slurm")),
		newPod("other-0", "10.0.0.9", names.WorkerSelector("other"))}, more...)
	return &env{t: t, slurm: readingOf(nil), store: kubetest.NewStore(t, c, objects...), recorder: events.NewFakeRecorder(1000),
		faults: map[string]string{}, jwtKeys: map[string]string{}, keys: map[string]string{"10.0.0.1": "", "10.0.0.2": "", "10.0.0.3": "", "10.0.0.4": ""}}
}

// forbiddingReader may not read the Secret of a name.
type forbiddingReader struct {
	client.Reader
	secret string
}

func (r forbiddingReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, is := into.(*corev1.Secret); is && key.Name == r.secret {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("no"))
	}
	return r.Reader.Get(ctx, key, into, options...)
}

// Reading and Problem implement SlurmCluster.
func (e *env) Reading() *slurmclients.Reading { return e.slurm }
func (e *env) Problem() string                { return e.slurmProblem }

// readingOf returns a reading of nodes. A pod runs only w-0.
func readingOf(nodes map[string]*slurm.Node) *slurmclients.Reading {
	out := &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}, Nodes: nodes}
	out.Snapshot.Nodes.Known, out.Snapshot.Nodes.ReadAt = true, kubetest.Noon().Add(time.Hour)
	return out
}

func keyOf(secret string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: "slurm.key"}
}

func newPod(name, address string, labels map[string]string) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	out.Spec.NodeName, out.Status.PodIP = "kube-a", address
	return out
}

// reconcile reconciles the Controller with an operator that has just started.
func (e *env) reconcile(store *kubetest.Store) error {
	read := func(_ context.Context, podIP string) (configagent.Status, error) {
		keys, answers := e.keys[podIP]
		if !answers {
			return configagent.Status{}, errors.New("no route to " + podIP)
		}
		return configagent.Status{Keys: keys, JWTKeys: e.jwtKeys[podIP], AppliedAt: kubetest.Noon(),
			Error: e.faults[podIP], Held: e.held[podIP]}, nil
	}
	r := New(store, store, read, func(refs.ClusterKey) SlurmCluster { return e }, e.recorder, func() time.Time { return kubetest.Noon().Add(e.later) }, nil)
	r.newKeyID = func(time.Time) (string, error) { return cmp.Or(e.newKeyID, "new"), nil }
	r.newBridge = func() (*rsa.PrivateKey, error) { return bridge, nil }
	r.Uncached = forbiddingReader{store, e.forbidden}
	result, err := r.Reconcile(e.t.Context(), kubetest.Request("slurm"))
	e.again = result.RequeueAfter
	return err
}

// check reconciles and checks the condition KeysRotated and the written key set.
func (e *env) check(reason, message, written string) {
	e.t.Helper()
	e.checkCondition(reason, message)
	if got := e.written(e.store); got != written {
		e.t.Errorf("the key set %q is written, not %q", got, written)
	}
}

// checkCondition reconciles and checks the condition KeysRotated.
func (e *env) checkCondition(reason, message string) {
	e.t.Helper()
	if err := e.reconcile(e.store); err != nil {
		e.t.Fatal(err)
	}
	c := kubetest.Get(e.t, e.store, "slurm", &v1beta1.Controller{})
	condition := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated)
	if condition == nil || condition.Reason != reason || !strings.Contains(condition.Message, message) {
		e.t.Errorf("the condition is %+v, want %s %q", condition, reason, message)
	}
}

// written returns the key set that daemons read.
func (e *env) written(store *kubetest.Store) string {
	secret := &corev1.Secret{}
	name := client.ObjectKey{Namespace: "team", Name: names.KeySetSecret("auth", "slurm.key")}
	if err := store.Get(e.t.Context(), name, secret); err != nil {
		return ""
	}
	keys, err := keyfile.Decode(secret.Data["slurm.jwks"])
	set, failed := plan.ParseKeySet(string(secret.Data["slurmtide.keys"]))
	if err = errors.Join(err, failed); err != nil || len(keys) != len(set.IDs()) {
		e.t.Fatalf("%d keys of %s: %v", len(keys), set, err)
	}
	if one, has := keys[plan.FirstKey]; has && string(one) != "one" {
		e.t.Errorf("the first key has another content")
	}
	return set.String()
}

// load lets all daemons load the written key set.
func (e *env) load(written string) {
	for address := range e.keys {
		e.keys[address] = written
	}
}

func TestARotationInSteps(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "given the key new", "first*,new")
	e.keys["10.0.0.1"] = "first*,new"
	e.check(v1beta1.ReasonDistributingKey, "waiting for db-accounting-0, login-x, w-0", "first*,new")
	e.load("first*,new")
	e.faults["10.0.0.2"], e.keys["10.0.0.2"] = "slurmdbd does not end", ""
	e.check(v1beta1.ReasonDistributingKey, "waiting for db-accounting-0 (slurmdbd does not end)", "first*,new")
	e.load("first*,new")
	e.held, e.keys["10.0.0.1"] = map[string]*configagent.Held{"10.0.0.1": {Reason: "PartitionInUse", Message: "partition a has job 5"}}, "first*"
	e.check(v1beta1.ReasonDistributingKey, "waiting for slurm-controller-0 (partition a has job 5)", "first*,new")
	e.held = nil
	e.load("first*,new")
	delete(e.keys, "10.0.0.3")
	e.check(v1beta1.ReasonDistributingKey, "waiting for w-0 (it does not say which keys it has)", "first*,new")
	e.load("first*,new")
	e.keys["10.0.0.3"] = "first*,new"
	e.check(v1beta1.ReasonSwitchingKey, "sign with the key new", "first,new*")
	e.load("first,new*")
	e.check(v1beta1.ReasonRetiringKey, "accept the key new alone", "new*")
	e.load("new*")
	e.check(v1beta1.ReasonRotated, "all daemons have the key new alone", "new*")
	e.keys["10.0.0.3"] = "first*" // it is no longer asked
	e.check(v1beta1.ReasonRotated, "", "new*")
	for _, want := range []string{"DistributingKey", "SwitchingKey", "RetiringKey", "Rotated"} {
		if got := <-e.recorder.Events; !strings.HasPrefix(got, "Normal "+want) {
			t.Errorf("the event is %q, not of %s", got, want)
		}
	}
	if pod := kubetest.Get(t, e.store, "w-0", &corev1.Pod{}); pod.Annotations[v1beta1.AnnotationSyncRequested] == "" {
		t.Error("the kubelet is not asked to bring the key set to the worker")
	}
}

func TestARotationThatCannotBegin(t *testing.T) {
	external := &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}
	external.Spec.SlurmKeyRef, external.Spec.External = keyOf("auth"), true
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: names.KeySetSecret("auth", "slurm.key")},
		Data: map[string][]byte{"slurm.jwks": []byte(`{"keys":[]}`)}}
	for name, tc := range map[string]struct {
		more            []client.Object
		change          func(*env)
		reason, message string
	}{
		"a daemon outside":         {[]client.Object{external}, nil, v1beta1.ReasonExternal, "Accounting elsewhere"},
		"a Secret of another user": {[]client.Object{foreign}, nil, v1beta1.ReasonObjectTaken, "delete or rename it"},
		"a silent worker": {nil, func(e *env) { delete(e.keys, "10.0.0.3") }, v1beta1.ReasonWaitingForDaemons,
			"waiting for w-0"},
		"no pod of slurmdbd": {nil, func(e *env) {
			_ = e.store.Delete(e.t.Context(), kubetest.Get(e.t, e.store, "db-accounting-0", &corev1.Pod{}))
		}, v1beta1.ReasonWaitingForDaemons, "waiting for db-accounting-0 (the pod does not exist)"},
		"no Secret of the user": {nil, func(e *env) {
			_ = e.store.Delete(e.t.Context(), kubetest.Get(e.t, e.store, "auth", &corev1.Secret{}))
		}, v1beta1.ReasonReferenceNotFound, "no key slurm.key of a Secret auth"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, tc.more...)
			if tc.change != nil {
				tc.change(e)
			}
			e.check(tc.reason, tc.message, "")
		})
	}
}

func TestAnotherRequestBeginsAfterTheEnd(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	c.Annotations[v1beta1.AnnotationRotateKeys] = "tuesday"
	if err := e.store.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	e.load("first*,new")
	e.check(v1beta1.ReasonSwitchingKey, "", "first,new*")
	e.load("first,new*")
	e.check(v1beta1.ReasonRetiringKey, "", "new*")
	e.check(v1beta1.ReasonWaitingForDaemons, "when all daemons are known to have it", "new*")
}

// TestLoginPodsWhoseLoginSetRefersElsewhereAreMembers: they continue with the key until a user corrects the reference.
func TestLoginPodsWhoseLoginSetRefersElsewhereAreMembers(t *testing.T) {
	e := newEnv(t)
	l := kubetest.Get(t, e.store, "login", &v1beta1.LoginSet{})
	l.Spec.ControllerRef.Name = "gone"
	if err := e.store.Update(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	e.check(v1beta1.ReasonDistributingKey, "given the key new", "first*,new")
	e.check(v1beta1.ReasonDistributingKey, "waiting for db-accounting-0, login-x, slurm-controller-0, w-0", "first*,new")
}

// TestARotationStopsWhileSlurmdbdWouldNotGetTheKey: its Accounting refers elsewhere in the middle of a rotation.
func TestARotationStopsWhileSlurmdbdWouldNotGetTheKey(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "given the key new", "first*,new")
	a := kubetest.Get(t, e.store, "db", &v1beta1.Accounting{})
	a.Spec.SlurmKeyRef = keyOf("gone")
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: "db"}
	for _, o := range []client.Object{a, c} {
		if err := e.store.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	e.load("first*,new")
	e.keys["10.0.0.2"] = ""
	e.check(v1beta1.ReasonInvalidSpec, "Accounting db of Controller slurm refers to another Secret", "first*,new")
}

// TestARotationStopsWhileItIsUnknownWhichSlurmdbdHasTheKey: the Controller refers to a missing Accounting, and slurmctld continues with
// the previous one, which refers elsewhere.
func TestARotationStopsWhileItIsUnknownWhichSlurmdbdHasTheKey(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "given the key new", "first*,new")
	a := kubetest.Get(t, e.store, "db", &v1beta1.Accounting{})
	a.Spec.SlurmKeyRef = keyOf("gone")
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: "gone"}
	for _, o := range []client.Object{a, c} {
		if err := e.store.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	e.load("first*,new")
	e.keys["10.0.0.2"] = ""
	e.check(v1beta1.ReasonReferenceNotFound, "Accounting gone of Controller slurm does not exist", "first*,new")
}

// TestTheOperatorIsKilledAtEveryWrite lets the daemons load the written key set before each pass.
func TestTheOperatorIsKilledAtEveryWrite(t *testing.T) {
	e := newEnv(t)
	newStore := func() *kubetest.Store { return newEnv(t).store }
	kubetest.CheckKilledAtEveryWrite(t, newStore, func(s *kubetest.Store) error {
		e.load(e.written(s))
		return e.reconcile(s)
	})
}

// TestARotationWaitsForAllSlurmctlds: a backup that is down or lags keeps the old key, and could take over with it.
func TestARotationWaitsForAllSlurmctlds(t *testing.T) {
	e := newEnv(t)
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	c.Spec.HA = &v1beta1.ControllerHA{Enabled: true, Backups: 1}
	if err := e.store.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	e.check(v1beta1.ReasonWaitingForDaemons, "waiting for slurm-controller-1 (the pod does not exist)", "")
	backup := newPod("slurm-controller-1", "10.0.0.5", names.SlurmctldSelector("slurm"))
	backup.Namespace = "team"
	if err := e.store.Create(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	e.keys["10.0.0.5"] = ""
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	e.load("first*,new")
	e.keys["10.0.0.5"] = ""
	e.check(v1beta1.ReasonDistributingKey, "waiting for slurm-controller-1", "first*,new")
	e.load("first*,new")
	e.check(v1beta1.ReasonSwitchingKey, "", "first,new*")
	e.load("first,new*")
	delete(e.keys, "10.0.0.5")
	e.check(v1beta1.ReasonSwitchingKey, "waiting for slurm-controller-1 (it does not say which keys it has)", "first,new*")
	e.keys["10.0.0.5"] = "first,new*"
	e.check(v1beta1.ReasonRetiringKey, "", "new*")
	if err := e.store.Delete(t.Context(), kubetest.Get(t, e.store, "slurm-controller-1", &corev1.Pod{})); err != nil {
		t.Fatal(err)
	}
	e.load("new*")
	e.check(v1beta1.ReasonRetiringKey, "waiting for slurm-controller-1 (the pod does not exist)", "new*")
}

// TestTheKeysOutliveTheController as long as slurmdbd has them: the Accounting also owns the Secret. An older operator's Secret gets
// the owner when the rotation has ended.
func TestTheKeysOutliveTheController(t *testing.T) {
	e := newEnv(t)
	for _, written := range []string{"first*,new", "first,new*", "new*"} {
		if err := e.reconcile(e.store); err != nil {
			t.Fatal(err)
		}
		e.load(written)
	}
	e.check(v1beta1.ReasonRotated, "", "new*")
	owners := func() (out []string) {
		secret := kubetest.Get(t, e.store, names.KeySetSecret("auth", "slurm.key"), &corev1.Secret{})
		for _, owner := range secret.OwnerReferences {
			out = append(out, owner.Kind+" "+owner.Name)
		}
		return out
	}
	if got := strings.Join(owners(), ", "); got != "Controller slurm, Accounting db, Namespace team" {
		t.Errorf("the Secret belongs to %s", got)
	}
	secret := kubetest.Get(t, e.store, names.KeySetSecret("auth", "slurm.key"), &corev1.Secret{})
	secret.OwnerReferences = secret.OwnerReferences[:1]
	if err := e.store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	e.check(v1beta1.ReasonRotated, "", "new*")
	if got := strings.Join(owners(), ", "); got != "Controller slurm, Accounting db, Namespace team" {
		t.Errorf("the Secret of an older operator belongs to %s", got)
	}
	e.store.Writes = 0
	if err := e.reconcile(e.store); err != nil || e.store.Writes > 0 {
		t.Errorf("then there are %d writes, and the error %v", e.store.Writes, err)
	}
}
