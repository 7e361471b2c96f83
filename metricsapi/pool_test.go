package metricsapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func ptr[T any](v T) *T { return &v }

// aNodeSet returns the NodeSet team/gpu with two replicas and the changes.
func aNodeSet(change ...func(*v1beta1.NodeSet)) *v1beta1.NodeSet {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"},
		Spec: v1beta1.NodeSetSpec{Replicas: ptr[int32](2)}}
	for _, f := range change {
		f(n)
	}
	return n
}

func withIdleGrace(text string) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Annotations = map[string]string{v1beta1.AnnotationIdleGrace: text} }
}

// withSubmittable sets the condition Submittable to False.
func withSubmittable(reason string) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) {
		n.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSubmittable, Status: metav1.ConditionFalse, Reason: reason}}
	}
}

func TestPoolOfANodeSet(t *testing.T) {
	hpa := func(least *int32, most int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: least, MaxReplicas: most}}
	}
	base := demand.Pool{Name: "team/gpu", Feature: "gpu", WorkerPrefix: "gpu-", Replicas: 2,
		ScaleInReasons: v1beta1.ScaleInReasons(), IdleGrace: time.Minute, ReservationLead: time.Hour}
	with := func(change func(p *demand.Pool)) demand.Pool {
		p := base
		change(&p)
		return p
	}
	for _, tc := range []struct {
		name string
		n    *v1beta1.NodeSet
		hpa  *autoscalingv2.HorizontalPodAutoscaler
		want demand.Pool
	}{
		{"a NodeSet without settings", aNodeSet(), nil, base},
		{"the HPA has the maximum", aNodeSet(), hpa(ptr[int32](0), 20), with(func(p *demand.Pool) { p.Max = 20 })},
		{"the HPA's minimum does not matter", aNodeSet(), hpa(nil, 20), with(func(p *demand.Pool) { p.Max = 20 })},
		{"its own maximum applies if it is smaller",
			aNodeSet(func(n *v1beta1.NodeSet) { n.Spec.MaxReplicas = ptr[int32](5) }), hpa(ptr[int32](2), 20),
			with(func(p *demand.Pool) { p.Max = 5 })},
		{"a partition of its own",
			aNodeSet(func(n *v1beta1.NodeSet) { n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true} }), nil,
			with(func(p *demand.Pool) { p.Partitions = []string{"gpu"} })},
		{"a disabled partition", aNodeSet(func(n *v1beta1.NodeSet) { n.Spec.Partition = &v1beta1.NodeSetPartition{} }),
			nil, base},
		{"unset replicas mean one", aNodeSet(func(n *v1beta1.NodeSet) { n.Spec.Replicas = nil }), nil,
			with(func(p *demand.Pool) { p.Replicas = 1 })},
		{"in DaemonSet mode the status has the desired number",
			aNodeSet(func(n *v1beta1.NodeSet) {
				n.Spec.ScalingMode, n.Status.Desired = v1beta1.ScalingModeDaemonSet,
					7
			}), nil, with(func(p *demand.Pool) { p.Replicas, p.WorkerPrefix = 7, "" })},
		{"nobody can submit to it until it has a worker", aNodeSet(withSubmittable(v1beta1.ReasonRecordsUnsupported)), nil,
			with(func(p *demand.Pool) { p.Min = 1 })},
		{"its records are to be created", aNodeSet(withSubmittable(v1beta1.ReasonRecordsMissing)), nil, base},
		{"an idle grace", aNodeSet(withIdleGrace("10m")), nil,
			with(func(p *demand.Pool) { p.IdleGrace = 10 * time.Minute })},
		{"no idle grace", aNodeSet(withIdleGrace("0s")), nil, with(func(p *demand.Pool) { p.IdleGrace = 0 })},
		{"an invalid idle grace is ignored", aNodeSet(withIdleGrace("soon")), nil, base},
		{"a negative idle grace is ignored", aNodeSet(withIdleGrace("-1m")), nil, base},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := PoolOf(tc.n, tc.hpa, PoolDefaults{IdleGrace: time.Minute, Lead: time.Hour})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestANodeSetAboveItsHPADoesNotStarveTheNext(t *testing.T) {
	pools := []demand.Pool{}
	for _, name := range []string{"big", "small"} {
		n := aNodeSet(func(n *v1beta1.NodeSet) {
			n.Name, n.Spec.MaxReplicas, n.Spec.Replicas, n.Spec.ExtraConf = name, ptr[int32](100), ptr[int32](0),
				"CPUs=8 RealMemory=16000"
		})
		hpa := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 2}}
		p := PoolOf(n, hpa, PoolDefaults{})
		p.Partitions = []string{"a"}
		pools = append(pools, p)
	}
	s := snapshotOf(nil, []*slurm.Job{aJob(1, "a", "Resources"), aJob(2, "a", "Resources"), aJob(3, "a", "Resources")},
		aPartition("a"))
	r := new(Reader).Read(noon(), s, pools)
	if got := []uint64{r.demand.Pools[0].Required, r.demand.Pools[1].Required}; !cmp.Equal(got, []uint64{2, 1}) {
		t.Errorf("three jobs require %d workers of NodeSets whose HPAs allow 2 each", got)
	}
}

func TestShapeOfAPool(t *testing.T) {
	known := aNodeSet(func(n *v1beta1.NodeSet) {
		n.Spec.ExtraConf = "CPUs=16 RealMemory=32000 Gres=gpu:h100:8 Features=fast Weight=10 TmpDisk=500"
	})
	want := &demand.Shape{CPUs: 16, MemoryMiB: 32000, GRES: "gpu:h100:8", Features: []string{"fast"}, Weight: 10,
		TmpDiskMiB: 500}
	if diff := cmp.Diff(want, PoolOf(known, nil, PoolDefaults{}).Shape); diff != "" {
		t.Error(diff)
	}
	if s := PoolOf(aNodeSet(), nil, PoolDefaults{}).Shape; s != nil {
		t.Errorf("an unknown shape is %+v, want nil", s)
	}
}
