package behaviour

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// withSSH lets users log in to workers.
func withSSH(n *v1beta1.NodeSet) {
	n.Spec.SSH = &v1beta1.NodeSetSSH{Enabled: true, SSSDConfRef: &corev1.SecretKeySelector{Key: "sssd.conf",
		LocalObjectReference: corev1.LocalObjectReference{Name: "sssd"}}}
}

func sssdSecret() client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sssd", Namespace: "slurm"},
		Data: map[string][]byte{"sssd.conf": []byte("[sssd]")}}
}

// hostKeys returns the Secret with the host keys of the workers.
func (r *testEnv) hostKeys() *corev1.Secret {
	r.t.Helper()
	out := &corev1.Secret{}
	r.must(r.Get(r.t.Context(), client.ObjectKey{Namespace: "slurm", Name: names.WorkerHostKeys("gpu")}, out))
	return out
}

// TestHostKeysOutliveEverything: they are made once, before the first worker, have no owner, and are recreated when deleted.
func TestHostKeysOutliveEverything(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSSH), sssdSecret())
	r.clearWrites()
	r.pollAndReconcile()
	const create = "create Secret gpu-ssh-host-keys"
	if at := slices.Index(r.writes, create); at < 0 || at > slices.Index(r.writes, "create Pod gpu-0") {
		t.Errorf("the writes are %q", r.writes)
	}
	keys := r.hostKeys()
	if len(keys.OwnerReferences) > 0 || len(keys.Data) == 0 {
		t.Errorf("the Secret is %+v", keys.ObjectMeta)
	}
	r.restart()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.SSH.ExtraSshdConfig = "MaxAuthTries 2" })
	r.pollAndReconcile()
	if diff := cmp.Diff(keys.Data, r.hostKeys().Data); diff != "" {
		t.Error("the host keys are others")
	}
	r.must(r.Delete(t.Context(), keys))
	r.now = r.now.Add(2 * time.Minute)
	r.pollAndReconcile()
	r.hostKeys()
}

func TestWithoutSSHThereAreNoHostKeys(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.clearWrites()
	r.pollAndReconcile()
	if slices.ContainsFunc(r.writes, func(w string) bool { return strings.Contains(w, "Secret") }) {
		t.Errorf("the writes are %q", r.writes)
	}
}

func TestHostKeysThatCannotBeWrittenAreACondition(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSSH), sssdSecret())
	r.clearWrites()
	r.fail["create Secret gpu-ssh-host-keys"] = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"},
		"gpu-ssh-host-keys", nil)
	r.slurm.Poll()
	if _, err := r.Reconcile(t.Context(), request); err == nil {
		t.Error("there is no error")
	}
	if c := r.expectCondition("Ready", "False", "Forbidden"); !strings.Contains(c.Message, "Secret gpu-ssh-host-keys") {
		t.Errorf("it says %q", c.Message)
	}
	if slices.Contains(r.writes, "create Pod gpu-0") {
		t.Error("there is a worker, which waits for its host keys")
	}
}

func TestSSHNeedsAnSSSDConf(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSSH))
	r.pollAndReconcile()
	if c := r.expectCondition("Ready", "False", "ReferenceNotFound"); !strings.Contains(c.Message,
		`Secret sssd has no key "sssd.conf"`) {
		t.Errorf("it says %q", c.Message)
	}
}

// TestSSHUsesTheSSSDConfOfTheController: a NodeSet with the same sssd.conf has the same revision, so that no worker is replaced
// when the field moves.
func TestSSHUsesTheSSSDConfOfTheController(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSSH, func(n *v1beta1.NodeSet) { n.Spec.SSH.SSSDConfRef = nil }), sssdSecret())
	r.pollAndReconcile()
	if c := r.expectCondition("Ready", "False", "InvalidSpec"); !strings.Contains(c.Message,
		"spec.ssh.sssdConfRef must be given, or spec.sssdConfRef of Controller slurm") {
		t.Errorf("it says %q", c.Message)
	}
	c := &v1beta1.Controller{}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
	own := nodesettest.NewNodeSet(1, withSSH).Spec.SSH.SSSDConfRef
	c.Spec.SSSDConfRef = own
	r.must(r.Update(t.Context(), c))
	r.pollAndReconcile()
	inherited := &corev1.Pod{}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "gpu-0"}, inherited))
	if !slices.ContainsFunc(inherited.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "sssd" }) {
		t.Errorf("the volumes of the worker are %+v", inherited.Spec.Volumes)
	}
	r.clearWrites()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.SSH.SSSDConfRef = own })
	r.pollAndReconcile()
	if slices.ContainsFunc(r.writes, func(w string) bool { return strings.Contains(w, " Pod ") }) {
		t.Errorf("with the same sssd.conf of its own, the writes are %q", r.writes)
	}
}
