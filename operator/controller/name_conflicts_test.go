package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

func newAgedNodeSet(name string, minute int) *v1beta1.NodeSet {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: name,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 27, 3, minute, 0, 0, time.UTC))}}
	n.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	n.Spec.Replicas = new(int32(1))
	n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true}
	return n
}

// TestNodeSetsWithNamesOfWorkersAreLeftOut: slurmctld would not start with their names.
func TestNodeSetsWithNamesOfWorkersAreLeftOut(t *testing.T) {
	newSet := newAgedNodeSet
	e := newEnv(t, newSet("gpu", 1), newSet("gpu-0", 2), newSet("default", 3), newSet("all", 4), newSet("cpu", 5))
	e.reconcile()
	config := &corev1.ConfigMap{}
	e.get(names.ControllerConfigMap("slurm"), config)
	text := config.Data["slurm.conf"]
	for _, line := range []string{"NodeSet=gpu Feature=gpu\n", "NodeSet=cpu ", "PartitionName=gpu "} {
		if !strings.Contains(text, line) {
			t.Errorf("slurm.conf has no %q:\n%s", line, text)
		}
	}
	for _, part := range []string{"gpu-0", "default", "all"} {
		if strings.Contains(text, "NodeSet="+part) || strings.Contains(text, "PartitionName="+part) {
			t.Errorf("slurm.conf has NodeSet %s:\n%s", part, text)
		}
	}
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	got := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionNodeSetsIncluded)
	if got == nil || got.Reason != v1beta1.ReasonNameTaken || !strings.Contains(got.Message, "NodeSet gpu-0 is not in slurm.conf") {
		t.Errorf("condition = %+v", got)
	}
}

// TestNodeSetsWithNamesInIncludedFilesAreLeftOut: slurmctld would not start with their names either.
func TestNodeSetsWithNamesInIncludedFilesAreLeftOut(t *testing.T) {
	e := newEnv(t, newAgedNodeSet("n8", 1), newAgedNodeSet("gpu", 2),
		newConfigMap("more", map[string]string{"nodes.conf": "NodeName=n[7-9]\n"}))
	e.change(func(s *v1beta1.ControllerSpec) {
		s.ConfigFileRefs, s.ExtraConf = []corev1.LocalObjectReference{{Name: "more"}}, "Include nodes.conf"
	})
	e.reconcile()
	if text := e.slurmConf(); strings.Contains(text, "NodeSet=n8") || !strings.Contains(text, "NodeSet=gpu") {
		t.Errorf("slurm.conf is:\n%s", text)
	}
}

// TestListedNodeSetsStayInSlurmConf: nobody's jobs end because another NodeSet may get more workers.
func TestListedNodeSetsStayInSlurmConf(t *testing.T) {
	gpu := newAgedNodeSet("gpu", 1)
	e := newEnv(t, gpu, newAgedNodeSet("gpu-5", 2))
	isListed := func(want bool) {
		t.Helper()
		config := &corev1.ConfigMap{}
		e.reconcile()
		e.get(names.ControllerConfigMap("slurm"), config)
		if got := strings.Contains(config.Data["slurm.conf"], "PartitionName=gpu-5 "); got != want {
			t.Errorf("slurm.conf has the partition gpu-5: %v, want %v", got, want)
		}
	}
	scale := func(replicas int32) {
		t.Helper()
		e.get("gpu", gpu)
		gpu.Spec.Replicas = &replicas
		if err := e.store.Client.Update(t.Context(), gpu); err != nil {
			t.Fatal(err)
		}
	}
	isListed(true)
	scale(10)
	isListed(true)
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	if got := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionNodeSetsIncluded); got != nil {
		t.Errorf("condition = %+v", got)
	}
}

// TestDeletingEitherOfTwoNodeSets: what one leaves the other gets.
func TestDeletingEitherOfTwoNodeSets(t *testing.T) {
	for gone, want := range map[string]string{"gpu": "NodeSet=gpu-0 ", "gpu-0": "NodeSet=gpu "} {
		gpu, zero := newAgedNodeSet("gpu", 1), newAgedNodeSet("gpu-0", 2)
		e := newEnv(t, gpu, zero)
		e.reconcile()
		if err := e.store.Client.Delete(t.Context(), map[string]*v1beta1.NodeSet{"gpu": gpu, "gpu-0": zero}[gone]); err != nil {
			t.Fatal(err)
		}
		e.reconcile()
		config := &corev1.ConfigMap{}
		e.get(names.ControllerConfigMap("slurm"), config)
		if text := config.Data["slurm.conf"]; !strings.Contains(text, want) || strings.Contains(text, "NodeSet="+gone+" ") {
			t.Errorf("without NodeSet %s, slurm.conf lacks %q:\n%s", gone, want, text)
		}
	}
}
