package behaviour

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// withImage sets the image of the workers.
func withImage(image string) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) {
		n.Spec.Slurmd.Raw = []byte(`{"image":"` + image + `","resources":{"limits":{"cpu":4}}}`)
	}
}

// setSlurmctld gives the Controller the status of a slurmctld of a release.
func (r *testEnv) setSlurmctld(release string) {
	r.t.Helper()
	c := &v1beta1.Controller{}
	r.must(r.Get(r.t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
	c.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: "slurmctld:" + release, Release: release}
	r.must(r.Update(r.t.Context(), c))
}

// settleRelease reconciles while lookups are answered and pods start. It returns the images of the workers.
func (r *testEnv) settleRelease() string {
	r.t.Helper()
	for range 16 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if pods := r.lookups(); len(pods) > 0 {
		r.t.Errorf("there are still %d lookups", len(pods))
	}
	return r.workerImages()
}

// lookups are the pods that look up releases.
func (r *testEnv) lookups() []*corev1.Pod {
	r.t.Helper()
	var out []*corev1.Pod
	for _, pod := range r.pods() {
		if pod.Labels[v1beta1.LabelAppName] == v1beta1.AppReleaseLookup {
			out = append(out, pod)
		}
	}
	return out
}

// answerLookup ends a lookup with the release in the tag of the image.
func (r *testEnv) answerLookup(pod *corev1.Pod) {
	r.t.Helper()
	_, release, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
	ended := &corev1.ContainerStateTerminated{Message: "slurm " + release + ".1", FinishedAt: metav1.NewTime(r.now)}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: ended}}}
	r.must(r.Status().Update(r.t.Context(), pod))
}

// workerImages are the images of the workers, by ordinal.
func (r *testEnv) workerImages() string {
	r.t.Helper()
	var out []string
	for _, pod := range r.pods() {
		if image := render.SlurmdImage(pod.Spec.Containers); image != "" {
			out = append(out, image)
		}
	}
	return strings.Join(out, " ")
}

// expectNothingDrained fails if a worker was drained or deleted.
func (r *testEnv) expectNothingDrained() {
	r.t.Helper()
	for _, call := range r.slurm.Calls {
		if strings.Contains(call, "DRAIN") {
			r.t.Errorf("Slurm was told %q", call)
		}
	}
	for _, write := range r.writes {
		if strings.HasPrefix(write, "delete Pod gpu-") && !strings.Contains(write, "-release-") {
			r.t.Errorf("there was the write %q", write)
		}
	}
}

func TestWorkersWaitForSlurmctld(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withImage("slurmd:24.11")))
	r.setSlurmctld("24.11")
	r.startWorkers()
	if s := r.nodeSet().Status; s.Image != "slurmd:24.11" || meta.FindStatusCondition(s.Conditions, "ReleaseAllowed") != nil {
		t.Errorf("of the first image the status is %+v", s)
	}
	first := r.nodeSet().Status.NodeSetHash
	r.change(withImage("slurmd:26.05"))
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:24.11" {
		t.Errorf("the workers have %s", got)
	}
	r.expectNothingDrained()
	c := r.expectCondition("ReleaseAllowed", "False", v1beta1.ReasonWaitingForSlurmctld)
	if !strings.Contains(c.Message, "slurmd 26.05 does not work with the slurmctld of Controller slurm, which is 24.11") {
		t.Errorf("it says %q", c.Message)
	}
	if got := r.nodeSet().Status.NodeSetHash; got != first {
		t.Errorf("the revision is %s, and was %s", got, first)
	}
	r.scale(3) // new workers have the working image
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:24.11 slurmd:24.11" {
		t.Errorf("with another worker they have %s", got)
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=7" }) // the rest of the specification is applied
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:24.11 slurmd:24.11" {
		t.Errorf("with another configuration they have %s", got)
	}
	r.expectCondition("Updated", "True", "UpToDate")
	if got := r.nodeSet().Status.NodeSetHash; got == first {
		t.Error("the configuration was not applied")
	}
	r.setSlurmctld("26.05")
	if got := r.settleRelease(); got != "slurmd:26.05 slurmd:26.05 slurmd:26.05" {
		t.Errorf("with a newer slurmctld they have %s", got)
	}
	r.expectCondition("ReleaseAllowed", "True", v1beta1.ReasonAllowed)
	if s := r.nodeSet().Status; s.Release != "26.05" || s.NextImage != "" || s.Image != "slurmd:26.05" {
		t.Errorf("the status is %+v", s.ReleaseStatus)
	}
}

// TestAnImageIsTakenBackBeforeItWasGiven: nothing happens to the workers.
func TestAnImageIsTakenBackBeforeItWasGiven(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withImage("slurmd:24.11")))
	r.setSlurmctld("24.11")
	r.startWorkers()
	r.change(withImage("slurmd:26.05"))
	r.settleRelease()
	r.change(withImage("slurmd:24.11"))
	r.settleRelease()
	r.expectNothingDrained()
	if c := meta.FindStatusCondition(r.nodeSet().Status.Conditions, "ReleaseAllowed"); c != nil {
		t.Errorf("the condition is %+v", c)
	}
}

// TestTheOldestImageCountsWhileWorkersKeepIt: ordinals below the partition keep it, even without workers.
func TestTheOldestImageCountsWhileWorkersKeepIt(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withImage("slurmd:24.11"), func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(1)),
			MaxUnavailable: new(intstr.FromInt32(1))}
	}))
	r.setSlurmctld("26.05")
	r.startWorkers()
	r.change(withImage("slurmd:26.05"))
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:26.05" {
		t.Errorf("the workers have %s", got)
	}
	if s := r.nodeSet().Status; s.Release != "24.11" || s.NextImage != "slurmd:26.05" {
		t.Errorf("the status is %+v", s.ReleaseStatus)
	}
	r.change(withImage("slurmd:26.11")) // refused during the update
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:26.05" {
		t.Errorf("with a refused image they have %s", got)
	}
	r.expectCondition("ReleaseAllowed", "False", v1beta1.ReasonWaitingForSlurmctld)
	r.change(withImage("slurmd:26.05"))
	r.scale(0)
	r.settleRelease()
	if s := r.nodeSet().Status; s.Release != "24.11" {
		t.Errorf("without workers the status is %+v", s.ReleaseStatus)
	}
}

// TestTheDefaultImageWaitsToo: the workers keep it, and new ones get it, until another one is allowed.
func TestTheDefaultImageWaitsToo(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) {
		n.Spec.Slurmd.Raw = []byte(`{"resources":{"limits":{"cpu":4}}}`)
	}))
	r.setSlurmctld("24.11")
	r.image = "slurmd:24.11"
	r.restart()
	r.startWorkers()
	r.image = "slurmd:26.05"
	r.restart()
	r.scale(2)
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:24.11" {
		t.Errorf("the workers have %s", got)
	}
	r.expectCondition("ReleaseAllowed", "False", v1beta1.ReasonWaitingForSlurmctld)
	r.setSlurmctld("26.05")
	r.settleRelease()
	r.scale(3)
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:24.11 slurmd:26.05" {
		t.Errorf("with a newer slurmctld they have %s", got)
	}
	r.expectNothingDrained()
}

// TestNothingIsLookedUpForASlurmctldOutside: its release is unknown.
func TestNothingIsLookedUpForASlurmctldOutside(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withImage("slurmd:a")))
	r.startWorkers()
	r.change(withImage("slurmd:b"))
	if got := r.settleRelease(); got != "slurmd:b" {
		t.Errorf("the workers have %s", got)
	}
	for _, write := range r.writes {
		if strings.HasPrefix(write, "create Pod") && !strings.HasPrefix(write, "create Pod gpu-0") {
			t.Errorf("there was the write %q", write)
		}
	}
}

// TestAdoptedWorkersKeepTheirRelease: the NodeSet was deleted without its pods, and recreated with an image of a newer release than
// slurmctld's. Its status knows no revision.
func TestAdoptedWorkersKeepTheirRelease(t *testing.T) {
	rolling := func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling }
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withImage("slurmd:24.11"), rolling))
	r.setSlurmctld("24.11")
	r.startWorkers()
	n := r.nodeSet()
	n.Finalizers = nil
	r.must(r.Update(t.Context(), n))
	r.must(client.IgnoreNotFound(r.Client.Delete(t.Context(), n)))
	for _, p := range r.pods() {
		p.OwnerReferences = nil
		r.must(r.Update(t.Context(), p))
	}
	again := nodesettest.NewNodeSet(2, withImage("slurmd:26.05"), rolling)
	again.UID = "uid-again"
	r.createObject(again)
	if got := r.settleRelease(); got != "slurmd:24.11 slurmd:24.11" {
		t.Errorf("the workers have %s while slurmctld is 24.11", got)
	}
}

// TestWorkersOfAnUpdateThatHadJustBegunKeepTheirRelease: when our operator takes the NodeSet over, the other operator's status has the
// new revision, but no worker does.
func TestWorkersOfAnUpdateThatHadJustBegunKeepTheirRelease(t *testing.T) {
	r := newTakenOver(t, "newer", "5d9c7", "5d9c7")
	for _, p := range r.pods() {
		p.Spec.Containers = []corev1.Container{{Name: "slurmd", Image: "slurmd:24.11"}}
		r.must(r.Update(t.Context(), p))
	}
	r.setSlurmctld("24.11")
	r.change(withImage("slurmd:26.05"))
	r.settleRelease()
	r.slurm.End(7)
	r.settleRelease()
	r.scale(3)
	if got := r.settleRelease(); strings.Contains(got, "26.05") {
		t.Errorf("the workers have %s while slurmctld is 24.11", got)
	}
}
