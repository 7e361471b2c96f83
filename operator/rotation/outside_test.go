package rotation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newNode returns a Slurm node in a state.
func newNode(name string, base slurm.NodeState, flags slurm.NodeFlags) *slurm.Node {
	base.Flags |= flags
	return &slurm.Node{Name: name, State: base}
}

// TestHostsOutsideAreNotCutOff: with each sign of a host outside, a rotation begins, which harms no host. It takes each
// further step only when a user confirms that these hosts have the key set.
func TestHostsOutsideAreNotCutOff(t *testing.T) {
	service := func(selector map[string]string, spec corev1.ServiceSpec) *corev1.Service {
		spec.Selector = selector
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Spec: spec}
	}
	cluster := &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}
	cluster.Spec.SlurmKeyRef = keyOf("auth")
	user := newPod("jump", "10.0.0.20", map[string]string{"app": "jump"})
	user.Spec.Volumes = []corev1.Volume{{Name: "key", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "auth"}}}}
	idle := slurm.NodeState{Base: slurm.NodeIdle}
	for _, tc := range []struct {
		name    string
		more    []client.Object
		change  func(*env)
		message string
	}{
		{"a node of slurm.conf", nil, func(e *env) {
			e.slurm = readingOf(map[string]*slurm.Node{"bare": newNode("bare", idle, 0)})
		}, "there is slurm node bare."},
		{"a dynamic node that no pod runs", nil, func(e *env) {
			e.slurm = readingOf(map[string]*slurm.Node{"bare": newNode("bare", idle, slurm.NodeDynamicNorm)})
		}, "there is slurm node bare."},
		{"Slurm that cannot be read", nil, func(e *env) {
			e.slurm, e.slurmProblem = readingOf(nil), "no route to slurmrestd"
			e.slurm.Snapshot.Nodes.Known = false
		}, "not known whether hosts outside of Kubernetes have the key: no route to slurmrestd"},
		{"a list of nodes that could not be read, while a new connection has no problem yet", nil, func(e *env) {
			e.slurm.Snapshot.Nodes.Err = errors.New("502 Bad Gateway")
		}, "not known whether hosts outside of Kubernetes have the key: 502 Bad Gateway"},
		{"a list of nodes that is old", nil, func(e *env) { e.later = 3 * time.Hour }, "the last list of Slurm's nodes is too old"},
		{"a load balancer of slurmctld", []client.Object{service(names.SlurmctldSelector("slurm"),
			corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer})}, nil, "Service open of type LoadBalancer"},
		{"a port of the Kubernetes nodes for slurmdbd", []client.Object{service(names.SlurmdbdSelector("db"),
			corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})}, nil, "Service open of type NodePort"},
		{"external addresses, in a Service of the user", []client.Object{service(
			map[string]string{v1beta1.LabelAppName: v1beta1.AppSlurmctld}, corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}})},
			nil, "Service open"},
		{"an address for the outside", nil, func(e *env) {
			e.changeController(func(c *v1beta1.Controller) { c.Spec.Address = "ctl.example.com" })
		}, "spec.address of Controller slurm"},
		{"a slurmdbd outside", nil, func(e *env) {
			e.changeController(func(c *v1beta1.Controller) { c.Spec.ExtraConf = "AccountingStorageHost=db.example.com" })
		}, "AccountingStorageHost in spec.extraConf"},
		{"a slurmdbd outside, in a file that slurm.conf includes", []client.Object{newSiteFile("AccountingStorageHost=db.example.com")},
			includeSiteFile, "AccountingStorageHost in site.conf"},
		{"a file that is missing", nil, includeSiteFile, "not known whether hosts outside of Kubernetes have the key: " +
			"spec.configFileRefs of Controller slurm: there is no ConfigMap site"},
		{"a Cluster with the key", []client.Object{cluster}, nil, "Cluster elsewhere"},
		{"a pod of the user with the key", []client.Object{user}, nil, "pod jump"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t, tc.more...)
			if tc.change != nil {
				tc.change(e)
			}
			e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
			e.load("first*,new")
			e.check(v1beta1.ReasonWaitingForHostsOutside, tc.message, "first*,new")
			e.check(v1beta1.ReasonWaitingForHostsOutside, "outside-keys=new/added", "first*,new")
			e.confirm("new/default")
			e.check(v1beta1.ReasonWaitingForHostsOutside, "", "first*,new")
			e.confirm("new/added")
			e.check(v1beta1.ReasonSwitchingKey, "", "first,new*")
			e.load("first,new*")
			e.check(v1beta1.ReasonWaitingForHostsOutside, "outside-keys=new/default", "first,new*")
			e.confirm("new/default")
			e.check(v1beta1.ReasonRetiringKey, "", "new*")
			e.load("new*")
			e.check(v1beta1.ReasonRotated, "", "new*")
		})
	}
}

// newSiteFile returns a ConfigMap with the file site.conf.
func newSiteFile(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "site"}, Data: map[string]string{"site.conf": text}}
}

// includeSiteFile lets slurm.conf include site.conf.
func includeSiteFile(e *env) {
	e.changeController(func(c *v1beta1.Controller) {
		c.Spec.ExtraConf, c.Spec.ConfigFileRefs = "Include site.conf", []corev1.LocalObjectReference{{Name: "site"}}
	})
}

// confirm sets the confirmed key set of the hosts outside.
func (e *env) confirm(value string) {
	e.t.Helper()
	e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationOutsideKeys] = value })
}

// TestServicesThatOpenNothing do not hold a rotation up.
func TestServicesThatOpenNothing(t *testing.T) {
	services := []corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Name: "inside"}, Spec: corev1.ServiceSpec{Selector: names.SlurmctldSelector("slurm")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{v1beta1.LabelAppName: "web"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "restapi"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Selector: names.SlurmrestdSelector("slurm")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Selector: names.SlurmctldSelector("other")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "nothing"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}},
	}
	all := sharers{controllers: []v1beta1.Controller{{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}}}
	if got := openServices(services, all); len(got) > 0 {
		t.Errorf("hosts outside are taken to use %s", strings.Join(got, ", "))
	}
}

// TestOutsideNodes: workers, their records, and those that may come are no hosts outside.
func TestOutsideNodes(t *testing.T) {
	const dynamic = slurm.NodeDynamicNorm
	state := func(base slurm.NodeState, flags slurm.NodeFlags, comment string) *slurm.Node {
		out := newNode("", base, flags)
		out.Comment = comment
		return out
	}
	idle, down := slurm.NodeState{Base: slurm.NodeIdle}, slurm.NodeState{Base: slurm.NodeDown}
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "w", UID: "uid-w"}}
	ours := comment.OfFuture(n, "uid-team", "")
	got := outsideNodes(map[string]*slurm.Node{
		"w-0":        state(idle, dynamic, ours),
		"w-1":        state(slurm.NodeState{Base: slurm.NodeFuture}, dynamic, ours),
		"w-2":        state(down, dynamic, ours),
		"w-3":        state(idle, dynamic|slurm.NodeNotResponding, ours),
		"lost":       state(idle, dynamic, ours), // slurmd of a pod that was deleted by force still answers
		"bare":       state(idle, 0, ""),
		"bare-down":  state(down, 0, ""),
		"dyn":        state(idle, dynamic, ""),
		"dyn-silent": state(down, dynamic, ""),
	}, map[string]bool{"w-0": true})
	if diff := cmp.Diff([]string{"bare", "bare-down", "dyn", "dyn-silent", "lost"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnOutsideSlurmdbdKeepsTheJWTKey: it would refuse tokens of the new key.
func TestAnOutsideSlurmdbdKeepsTheJWTKey(t *testing.T) {
	e := newJWTEnv(t)
	e.changeController(func(c *v1beta1.Controller) { c.Spec.ExtraConf = "AccountingStorageBackupHost=db2" })
	e.checkJWT(v1beta1.ReasonExternal, "AccountingStorageBackupHost in spec.extraConf", "")
	e = newJWTEnv(t, newSiteFile("AccountingStorageHost=db2"))
	includeSiteFile(e)
	e.checkJWT(v1beta1.ReasonExternal, "AccountingStorageHost in site.conf", "")
}
