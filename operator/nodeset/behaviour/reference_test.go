package behaviour

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

// breakSpec makes an open part of the spec malformed.
func breakSpec(n *v1beta1.NodeSet) { n.Spec.Slurmd.Raw = []byte(`{"env": 7}`) }

func TestWhatIsMissingIsACondition(t *testing.T) {
	ofCluster := func(n *v1beta1.NodeSet) {
		n.Spec.ControllerRef, n.Spec.ClusterRef = nil, &corev1.LocalObjectReference{Name: "far"}
	}
	meta := metav1.ObjectMeta{Name: "far", Namespace: "slurm"}
	key := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "auth"}, Key: "slurm.key"}
	ctld := &v1beta1.SlurmctldAddress{Host: "ctld.example.com"}
	for _, tc := range []struct {
		name   string
		set    *v1beta1.NodeSet
		others []client.Object
		before func(*testEnv)
		reason string
		want   string
	}{
		{"no Controller", nodesettest.NewNodeSet(1), nil, func(r *testEnv) {
			r.must(r.Delete(r.t.Context(),
				&v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm", Namespace: "slurm"}}))
		}, "ReferenceNotFound", "Controller slurm does not exist in namespace slurm"},
		{"no Cluster", nodesettest.NewNodeSet(1, ofCluster), nil, nil, "ReferenceNotFound",
			"Cluster far does not exist in namespace slurm"},
		{"no slurmctld", nodesettest.NewNodeSet(1, ofCluster),
			[]client.Object{&v1beta1.Cluster{ObjectMeta: meta, Spec: v1beta1.ClusterSpec{SlurmKeyRef: key}}}, nil,
			"ReferenceNotFound", "Cluster far has no slurmctld, which workers join"},
		{"no key", nodesettest.NewNodeSet(1, ofCluster),
			[]client.Object{&v1beta1.Cluster{ObjectMeta: meta, Spec: v1beta1.ClusterSpec{Slurmctld: ctld}}}, nil,
			"ReferenceNotFound", "Cluster far has no slurmKeyRef, which workers need"},
		{"no Secret", nodesettest.NewNodeSet(1), nil, func(r *testEnv) {
			r.must(r.Delete(r.t.Context(),
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth", Namespace: "slurm"}}))
		}, "ReferenceNotFound", `Secret auth has no key "slurm.key", which workers need`},
		{"an empty Secret", nodesettest.NewNodeSet(1), nil, func(r *testEnv) {
			r.must(r.Update(r.t.Context(),
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth", Namespace: "slurm"},
					Data: map[string][]byte{"slurm.key": {}}}))
		}, "ReferenceNotFound", `Secret auth has no key "slurm.key", which workers need`},
		{"no reference", nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.Spec.ControllerRef = nil }), nil, nil,
			"InvalidSpec", "neither spec.controllerRef nor spec.clusterRef is set"},
		{"a malformed slurmd", nodesettest.NewNodeSet(1, breakSpec), nil, nil, "InvalidSpec", "spec.slurmd"},
		{"a malformed pod", nodesettest.NewNodeSet(
			1, func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostname": {}}`) }), nil, nil,
			"InvalidSpec", "spec.template.spec"},
		{"a malformed logfile", nodesettest.NewNodeSet(
			1, func(n *v1beta1.NodeSet) { n.Spec.Logfile.Raw = []byte(`{"image": []}`) }), nil, nil, "InvalidSpec",
			"spec.logfile"},
		{"a malformed claim", nodesettest.NewNodeSet(1, setClaims,
			func(n *v1beta1.NodeSet) { n.Spec.VolumeClaimTemplates[0].Spec.Raw = []byte(`{"accessModes": 1}`) }), nil,
			nil, "InvalidSpec", "spec.volumeClaimTemplates[0].spec"},
		{"a name that is too long for a pod",
			nodesettest.NewNodeSet(1000, func(n *v1beta1.NodeSet) { n.Spec.OrdinalPadding = 70 }),
			nil, nil, "InvalidSpec", "naming the pod"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, tc.set, tc.others...)
			if tc.before != nil {
				tc.before(r)
			}
			r.clearWrites()
			r.pollAndReconcile()
			if c := r.expectCondition("Ready", "False", tc.reason); !strings.Contains(c.Message, tc.want) {
				t.Errorf("it says %q", c.Message)
			}
			expectStrings(t, "the writes", r.writes, "patch NodeSet gpu", "patch status NodeSet gpu")
			expectStrings(t, "the calls", r.slurm.Calls)
		})
	}
}

func TestWhatIsMissingTouchesNoWorker(t *testing.T) {
	auth := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth", Namespace: "slurm"}}
	ctld := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm", Namespace: "slurm"}}
	for _, tc := range []struct {
		name string
		with func(*testEnv)
	}{
		{"the Secret", func(r *testEnv) { r.must(r.Delete(r.t.Context(), auth)) }},
		{"the Controller", func(r *testEnv) { r.must(r.Delete(r.t.Context(), ctld)); r.slurmMissing = true }},
		{"a spec that can be read", func(r *testEnv) { r.change(breakSpec) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(3, nodesettest.WithMaxReplicas(5)))
			r.startWorkers()
			r.slurm.Start(7, "gpu-2")
			r.slurm.Start(8, "gpu-1")
			r.slurm.Start(9, "gpu-0")
			r.scale(2)
			for range 3 {
				r.pollAndReconcile()
			}
			chosen := map[string]string{}
			for _, p := range r.pods() {
				chosen[p.Name] = observed.DrainMark(p).Cause
			}
			tc.with(r)
			r.scale(0)
			r.restart() // so that the key is read again
			r.clearWrites()
			for range 4 {
				r.pollAndReconcile()
			}
			expectStrings(t, "the writes", r.writes, "patch status NodeSet gpu")
			expectStrings(t, "the calls", r.slurm.Calls)
			for _, p := range r.pods() {
				if cause, ok := chosen[p.Name]; !ok || cause != observed.DrainMark(p).Cause {
					t.Errorf("%s was noted %q and is %q", p.Name, cause, observed.DrainMark(p).Cause)
				}
			}
			if len(r.pods()) != 3 || len(r.slurm.Nodes) != 5 {
				t.Errorf("the pods are %s, there are %d records", r.podNames(), len(r.slurm.Nodes))
			}
		})
	}
}

func TestWorkersJoinWhereTheirClusterIs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.Controller)
		host   string
		port   int32
	}{
		{"at the Controller's Service", func(*v1beta1.Controller) {}, "slurm-controller.slurm", 6817},
		{"at an external one", func(c *v1beta1.Controller) {
			c.Spec.External, c.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctld.example.com", Port: 7000}
		}, "ctld.example.com", 7000},
		{"at an external one's usual port", func(c *v1beta1.Controller) {
			c.Spec.External, c.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctld.example.com"}
		}, "ctld.example.com", 6817},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1))
			c := &v1beta1.Controller{}
			r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
			tc.change(c)
			r.must(r.Update(t.Context(), c))
			r.pollAndReconcile()
			server := fmt.Sprintf("%s:%d", tc.host, tc.port)
			if containers := fmt.Sprint(r.pod("gpu-0").Spec.Containers); !strings.Contains(containers, server) {
				t.Errorf("the worker does not join %s: %s", server, containers)
			}
		})
	}
}

// newConfig returns the configuration of the Controller with a file.
func newConfig(file string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: names.ControllerConfigMap("slurm")},
		Data: map[string]string{file: ""}}
}

// TestWorkersWaitForTheirKindsOfGRES: a worker that registers before slurmctld knows the kinds never gets any.
func TestWorkersWaitForTheirKindsOfGRES(t *testing.T) {
	for _, tc := range []struct {
		name     string
		types    []string
		external bool
		file     string
		waits    bool
	}{
		{"slurmctld knows none", []string{}, false, "gres.conf", true},
		{"slurmctld knows others", []string{"nic"}, false, "gres.conf", true},
		{"slurmctld knows it", []string{"gpu", "nic"}, false, "gres.conf", false},
		{"slurmctld knows none, and nothing finds any", []string{}, false, "cgroup.conf", false},
		{"nobody knows what slurmctld knows", nil, false, "gres.conf", false},
		{"slurmctld runs elsewhere", []string{}, true, "gres.conf", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := nodesettest.NewNodeSet(2)
			n.Spec.ExtraConf = "CPUs=4 Gres=gpu:h100:2"
			r := newTestEnv(t, n)
			r.createObject(newConfig(tc.file))
			c := &v1beta1.Controller{}
			r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
			if c.Spec.External = tc.external; tc.external {
				c.Spec.ExternalConfig = &v1beta1.ExternalConfig{Host: "ctld.example.com"}
			}
			c.Status.GresTypes = tc.types
			r.must(r.Update(t.Context(), c))
			r.pollAndReconcile()
			if got := len(r.pods()); (got == 0) != tc.waits {
				t.Errorf("there are %d workers", got)
			}
			if !tc.waits {
				return
			}
			r.expectReady("WaitingForConfig: no worker is created yet: slurmctld does not know the kinds of GRES gpu, and a worker would have " +
				"none for good; condition ConfigApplied of Controller slurm says what its configuration waits for")
			r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
			c.Status.GresTypes = []string{"gpu"}
			r.must(r.Update(t.Context(), c))
			if r.pollAndReconcile(); len(r.pods()) != 2 {
				t.Errorf("then there are %d workers", len(r.pods()))
			}
		})
	}
}

// TestScaleInDoesNotWaitForKindsOfGRES: existing workers stay in service, and are removed once they are not wanted. None is replaced
// meanwhile.
func TestScaleInDoesNotWaitForKindsOfGRES(t *testing.T) {
	n := nodesettest.NewNodeSet(2)
	n.Spec.ExtraConf = "CPUs=4 Gres=gpu:2"
	r := newTestEnv(t, n)
	r.startWorkers()
	r.createObject(newConfig("gres.conf"))
	c := &v1beta1.Controller{}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
	c.Status.GresTypes = []string{}
	r.must(r.Update(t.Context(), c))
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=4 Gres=nic:2" })
	for range 10 {
		r.pollAndReconcile()
	}
	if len(r.pods()) != 2 || len(r.slurm.Calls) > 0 {
		t.Errorf("there are %s after %q", r.podNames(), r.slurm.Calls)
	}
	r.scale(0)
	for range 20 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if len(r.pods()) != 0 {
		t.Errorf("with no replicas there are %s", r.podNames())
	}
}

func TestAnotherKeyIsAnotherRevision(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(0))
	r.pollAndReconcile()
	before := r.nodeSet().Status.NodeSetHash
	r.must(r.Update(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth", Namespace: "slurm"},
		Data: map[string][]byte{"slurm.key": []byte("another")}}))
	r.now = r.now.Add(time.Minute)
	r.pollAndReconcile()
	if got := r.nodeSet().Status.NodeSetHash; got == before {
		t.Error("it is the same")
	}
}
