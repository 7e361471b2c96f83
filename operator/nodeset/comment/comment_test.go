package comment

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// kubeName matches names of Kubernetes objects.
var kubeName = regexp.MustCompile(`^[a-z0-9.-]+$`)

func TestParse(t *testing.T) {
	nodeSet := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "cpu", UID: "uid-1"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cpu-3"}, Spec: corev1.PodSpec{NodeName: "kube-a"}}
	const want = `{"namespace":"slurm","podName":"cpu-3","node":"kube-a","nodeSetName":"cpu","nodeSetUID":"uid-1","namespaceUID":"uid-2"}`
	text := OfWorker(nodeSet, "uid-2", pod, "bought 2024")
	if text != want {
		t.Errorf("it is %s, not %s", text, want)
	}
	if c, ok := Parse(text); !ok || c.PodName != "cpu-3" || c.KubeNode != "kube-a" {
		t.Errorf("it is read as %+v, %t", c, ok)
	}
	for _, foreign := range []string{"", "bought 2024", "{}", `{"podName":5}`, "null"} {
		if _, ok := Parse(foreign); ok {
			t.Errorf("%q is taken for one of ours", foreign)
		}
	}
}

func TestTheShapeOfARecordStaysInItsComment(t *testing.T) {
	nodeSet := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "cpu", UID: "uid-1"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cpu-3"}, Spec: corev1.PodSpec{NodeName: "kube-a"}}
	text := OfWorker(nodeSet, "uid-2", pod, OfFuture(nodeSet, "uid-2", "0a1b2c3d"))
	note, _ := Parse(text)
	if note.Shape != "0a1b2c3d" || note.PodName != "cpu-3" {
		t.Errorf("the comment of the worker is %s", text)
	}
	text = WithoutPod(nodeSet, "uid-2", note)
	if note, _ = Parse(text); note.Shape != "0a1b2c3d" || note.PodName != "" || note.KubeNode != "kube-a" {
		t.Errorf("the comment without the pod is %s", text)
	}
}

// FuzzCommentsAreReadAsWritten writes the comment of a worker and reads it back. demand
// takes the node for one of the same NodeSet.
func FuzzCommentsAreReadAsWritten(f *testing.F) {
	f.Add("team", "gpu", "uid-1", "uid-2", "gpu-0", "kube-1")
	f.Add("a", "b", "\"", "\\", "\u2028", `","nodeSetName":"evil`)
	f.Fuzz(func(t *testing.T, namespace, name, uid, namespaceUID, pod, kubeNode string) {
		nodeSet := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			UID: types.UID(uid)}}
		text := OfWorker(nodeSet, types.UID(namespaceUID),
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod}, Spec: corev1.PodSpec{NodeName: kubeNode}}, "")
		want := Comment{Namespace: namespace, PodName: pod, KubeNode: kubeNode, NodeSetName: name, NodeSetUID: uid,
			NamespaceUID: namespaceUID}
		note, ok := Parse(text)
		if ok != (name != "" && uid != "") {
			t.Errorf("%s is a comment of ours: %v", text, ok)
		}
		if ok && note != want &&
			utf8.ValidString(strings.Join([]string{namespace, name, uid, namespaceUID, pod, kubeNode}, " ")) {
			t.Errorf("%s is read as %+v", text, note)
		}
		if !kubeName.MatchString(namespace) || !kubeName.MatchString(name) {
			return
		}
		own := demand.Pool{Name: namespace + "/" + name}
		if n := &(slurm.Node{Comment: text}); len(demand.NodesOf(own.Name, []*slurm.Node{n}, []demand.Pool{own})) != 1 {
			t.Errorf("%s is not the comment of a node of %s for demand", text, own.Name)
		}
	})
}

// FuzzComments reads any text as a comment: one of ours names a NodeSet, and is read the
// same once it is written again.
func FuzzComments(f *testing.F) {
	for _, text := range []string{`{"nodeSetName":"gpu","nodeSetUID":"u"}`, "rack 4, fan broken", "{", "null", `[]`,
		`{"NODESETNAME":"a","nodesetuid":1}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		note, ok := Parse(text)
		if !ok {
			return
		}
		nodeSet := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: note.Namespace, Name: note.NodeSetName,
			UID: types.UID(note.NodeSetUID)}}
		if !note.BelongsTo(nodeSet, "") {
			t.Errorf("%q is not of its own NodeSet", text)
		}
		if again, ok := Parse(formatComment(nodeSet, types.UID(note.NamespaceUID), note)); !ok || again != note {
			t.Errorf("%q is %+v, and then %+v", text, note, again)
		}
	})
}
