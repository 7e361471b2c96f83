package desired

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

func setNames(s *Observation) {
	s.Names, _ = names.NewWorkers(s.NodeSet, "slurm")
}

func TestCountValidOrdinals(t *testing.T) {
	for name, tc := range map[string]struct{ prefix, partition, end, want int }{
		"short names":                       {10, 0, 200, 200},
		"one digit":                         {62, 0, 200, 10},
		"two digits":                        {61, 0, 200, 100},
		"the end comes first":               {61, 0, 50, 50},
		"no digit":                          {63, 0, 200, 0},
		"the partition may have other ones": {62, 20, 200, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Observation{NodeSet: nodesettest.NewNodeSet(2)}
			s.NodeSet.Spec.Template.Spec.Raw = []byte(`{"hostname": "` + strings.Repeat("x", tc.prefix) + `"}`)
			setNames(s)
			if got := countValidOrdinals(s.Names, tc.partition, tc.end); got != tc.want {
				t.Errorf("countValidOrdinals = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestWishes(t *testing.T) {
	broken := func(s *Observation) { s.Frozen = true }
	perKubeNode := func(s *Observation) {
		s.NodeSet.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet
		for _, name := range []string{"kube-2", "kube-0", "kube-1"} {
			s.KubeNodes[name] = nodesettest.NewKubeNode(name)
		}
		s.KubeNodes["kube-1"].Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
	}
	open := plan.Update{Allowed: true, MaxUnavailable: 1}
	for _, tc := range []struct {
		name   string
		change []func(*Observation)
		want   plan.Desired
	}{
		{"as many as the NodeSet says", nil, plan.Desired{Replicas: 2, Update: open}},
		{"one without a number", []func(*Observation){func(s *Observation) { s.NodeSet.Spec.Replicas = nil }},
			plan.Desired{Replicas: 1, Update: open}},
		{"none below zero", []func(*Observation){func(s *Observation) { s.NodeSet.Spec.Replicas = new(int32(-3)) }},
			plan.Desired{Update: open}},
		{"records where names and shape are known",
			[]func(*Observation){func(s *Observation) { nodesettest.WithMaxReplicas(7)(s.NodeSet) }},
			plan.Desired{Replicas: 2, MaxWorkers: new(7), CanCreateRecords: true, Update: open}},
		{"no records where names are those of Kubernetes nodes", []func(*Observation){func(s *Observation) {
			nodesettest.WithMaxReplicas(7)(s.NodeSet)
			s.NodeSet.Spec.Template.Spec.Raw = []byte(`{"hostNetwork": true}`)
		}}, plan.Desired{Replicas: 2, MaxWorkers: new(7), Update: open}},
		{"what else it says", []func(*Observation){func(s *Observation) {
			s.NodeSet.DeletionTimestamp = new(metav1.NewTime(nodesettest.Noon))
			s.NodeSet.Spec.MinReadySeconds, s.NodeSet.Spec.PruneSlurmNodeRecords = 30, v1beta1.PruneNodeNotFound
			s.NodeSet.Spec.DrainPolicy = &v1beta1.DrainPolicy{Type: v1beta1.DrainForce}
		}}, plan.Desired{Replicas: 2, Deleting: true, DeletingSince: nodesettest.Noon, PruneRecords: true,
			MinReady: 30 * time.Second, DrainPolicy: plan.DrainPolicy{Force: true}, Update: open}},
		{"one on each Kubernetes node that fits", []func(*Observation){perKubeNode},
			plan.Desired{Replicas: 2, PerKubeNode: true, KubeNodes: []string{"kube-0", "kube-2"}, Update: open}},
		{"what there is of a broken one", []func(*Observation){broken, func(s *Observation) {
			nodesettest.WithMaxReplicas(7)(s.NodeSet)
			s.NodeSet.Spec.Replicas = new(int32(5))
		}}, plan.Desired{Frozen: true, Replicas: 2, KubeNodes: []string{"", "kube-7"}}},
		{"not those of a broken one that go, or are to", []func(*Observation){broken, func(s *Observation) {
			s.Workers[0].DeletedAt = nodesettest.Noon
			s.Workers[1].DrainMark.Cause = v1beta1.DrainCauseScaleIn
		}}, plan.Desired{Frozen: true}},
		{"what there is of a broken one on each Kubernetes node", []func(*Observation){perKubeNode, broken},
			plan.Desired{Frozen: true, Replicas: 2, PerKubeNode: true, KubeNodes: []string{"", "kube-7"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newObservation(2, func(s *Observation) { s.Workers[1].Slot.KubeNode = "kube-7" })
			for _, c := range tc.change {
				c(s)
			}
			setNames(s)
			tc.want.Namespace, tc.want.Name, tc.want.UID, tc.want.Revision, tc.want.ClusterRef = "slurm", "gpu",
				nodesettest.NodeSetUID, "new", "slurm"
			if diff := cmp.Diff(tc.want, Of(nodesettest.Noon, s, nil),
				cmpopts.IgnoreFields(plan.Desired{}, "SlurmName", "SlurmNameOn"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheMostWorkers(t *testing.T) {
	hpa := func(most int32) autoscalingv2.HorizontalPodAutoscaler {
		return autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: most}}
	}
	for _, tc := range []struct {
		name string
		set  *v1beta1.NodeSet
		hpas []autoscalingv2.HorizontalPodAutoscaler
		want *int
	}{
		{"are not known without anything", nodesettest.NewNodeSet(2), nil, nil},
		{"are those of the HPA", nodesettest.NewNodeSet(2), []autoscalingv2.HorizontalPodAutoscaler{hpa(9)}, new(9)},
		{"are those of the HPA that goes highest, of two", nodesettest.NewNodeSet(2),
			[]autoscalingv2.HorizontalPodAutoscaler{hpa(9), hpa(12), hpa(3)}, new(12)},
		{"are no more than the operator keeps records of",
			nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4_000_000)), nil,
			new(MaxRecords)},
		{"but at least those there are to be", nodesettest.NewNodeSet(20_000, nodesettest.WithMaxReplicas(4_000_000)),
			nil, new(20_000)},
		{"are no more than Slurm has nodes", nodesettest.NewNodeSet(2_000_000_000, nodesettest.WithMaxReplicas(4_000_000)),
			nil, new(scaling.MaxNodes)},
		{"are those that the NodeSet says", nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4)),
			[]autoscalingv2.HorizontalPodAutoscaler{hpa(9), hpa(8)}, new(4)},
		{"are those of the HPA where it allows fewer than the NodeSet",
			nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(100)),
			[]autoscalingv2.HorizontalPodAutoscaler{hpa(9)}, new(9)},
		{"are never fewer than there should be", nodesettest.NewNodeSet(6, nodesettest.WithMaxReplicas(4)), nil,
			new(6)},
		{"are none when the NodeSet says so", nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(0)), nil, new(0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, maxWorkers(tc.set, tc.hpas)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDrainPolicies(t *testing.T) {
	hour := &metav1.Duration{Duration: time.Hour}
	for _, tc := range []struct {
		policy *v1beta1.DrainPolicy
		want   plan.DrainPolicy
	}{
		{nil, plan.DrainPolicy{}},
		{&v1beta1.DrainPolicy{}, plan.DrainPolicy{}},
		{&v1beta1.DrainPolicy{Type: v1beta1.DrainWait, Timeout: hour}, plan.DrainPolicy{}},
		{&v1beta1.DrainPolicy{Type: v1beta1.DrainTimeout, Timeout: hour}, plan.DrainPolicy{Timeout: time.Hour}},
		{&v1beta1.DrainPolicy{Type: v1beta1.DrainTimeout}, plan.DrainPolicy{}},
		{&v1beta1.DrainPolicy{Type: v1beta1.DrainForce, Timeout: hour}, plan.DrainPolicy{Force: true}},
		{&v1beta1.DrainPolicy{Type: "Hurry", Timeout: hour}, plan.DrainPolicy{}},
	} {
		if got := drainPolicyOf(tc.policy); got != tc.want {
			t.Errorf("of %+v it is %+v", tc.policy, got)
		}
	}
}

func TestUpdates(t *testing.T) {
	rolling := func(most any, partition int32) *v1beta1.RollingUpdate {
		out := &v1beta1.RollingUpdate{Partition: &partition}
		switch most := most.(type) {
		case int:
			out.MaxUnavailable = new(intstr.FromInt(most))
		case string:
			out.MaxUnavailable = new(intstr.FromString(most))
		}
		return out
	}
	now := &v1beta1.ScheduledUpdate{StartTime: new(metav1.NewTime(nodesettest.Noon))}
	for _, tc := range []struct {
		name     string
		strategy v1beta1.NodeSetUpdateStrategy
		desired  int
		want     plan.Update
	}{
		{"a quarter is the default", v1beta1.NodeSetUpdateStrategy{}, 8, plan.Update{Allowed: true, MaxUnavailable: 2}},
		{"a share is rounded up", v1beta1.NodeSetUpdateStrategy{RollingUpdate: rolling("30%", 0)}, 7,
			plan.Update{Allowed: true, MaxUnavailable: 3}},
		{"a share is one at least", v1beta1.NodeSetUpdateStrategy{RollingUpdate: rolling("1%", 0)}, 7,
			plan.Update{Allowed: true, MaxUnavailable: 1}},
		{"of none it is one", v1beta1.NodeSetUpdateStrategy{}, 0, plan.Update{Allowed: true, MaxUnavailable: 1}},
		{"a number is itself", v1beta1.NodeSetUpdateStrategy{RollingUpdate: rolling(3, 2)}, 7,
			plan.Update{Allowed: true, MaxUnavailable: 3, Partition: 2}},
		{"zero is no update", v1beta1.NodeSetUpdateStrategy{RollingUpdate: rolling(0, 0)}, 7,
			plan.Update{MaxUnavailable: 1}},
		{"nor is a share of zero", v1beta1.NodeSetUpdateStrategy{RollingUpdate: rolling("0%", 0)}, 7,
			plan.Update{MaxUnavailable: 1}},
		{"what is no share is one", v1beta1.NodeSetUpdateStrategy{RollingUpdate: rolling("many", 0)}, 7,
			plan.Update{Allowed: true, MaxUnavailable: 1}},
		{"paused is not open", v1beta1.NodeSetUpdateStrategy{Paused: true}, 4, plan.Update{MaxUnavailable: 1}},
		{"OnDelete is not open", v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateOnDelete}, 4,
			plan.Update{MaxUnavailable: 1}},
		{"at its time all may go", v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateScheduled, ScheduledUpdate: now},
			4, plan.Update{Allowed: true, MaxUnavailable: 4}},
		{"paused at its time is not open",
			v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateScheduled, ScheduledUpdate: now, Paused: true}, 4,
			plan.Update{MaxUnavailable: 4}},
		{"without a time it is not open", v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateScheduled}, 4,
			plan.Update{MaxUnavailable: 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, updateOf(nodesettest.Noon, tc.strategy, tc.desired)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheTimeOfAScheduledUpdate(t *testing.T) {
	start := new(metav1.NewTime(nodesettest.Noon))
	hour := &metav1.Duration{Duration: time.Hour}
	for _, tc := range []struct {
		name  string
		set   *v1beta1.ScheduledUpdate
		after time.Duration
		want  bool
	}{
		{"begins at its start", &v1beta1.ScheduledUpdate{StartTime: start, Duration: hour}, 0, true},
		{"does not begin before", &v1beta1.ScheduledUpdate{StartTime: start, Duration: hour}, -1, false},
		{"is over at its end", &v1beta1.ScheduledUpdate{StartTime: start, Duration: hour}, time.Hour, false},
		{"is half an hour if it does not say", &v1beta1.ScheduledUpdate{StartTime: start}, 30*time.Minute - 1, true},
		{"is over after half an hour", &v1beta1.ScheduledUpdate{StartTime: start}, 30 * time.Minute, false},
		{"never comes without a start", &v1beta1.ScheduledUpdate{Duration: hour}, 0, false},
		{"never comes without a schedule", nil, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isWithinSchedule(nodesettest.Noon.Add(tc.after), tc.set); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}

func TestWhereAWorkerFits(t *testing.T) {
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "gpu", Value: "a", Effect: effect})
		}
	}
	in := func(values ...string) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname,
				Operator: corev1.NodeSelectorOpIn, Values: values}}}}}}}
	}
	malformed := in("kube-0")
	malformed.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Near"
	tolerant := corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}}
	for _, tc := range []struct {
		name string
		spec corev1.PodSpec
		node []func(*corev1.Node)
		want bool
	}{
		{"anywhere if it asks for nothing", corev1.PodSpec{}, nil, true},
		{"where it selects", corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: "kube-0"}}, nil,
			true},
		{"not where it does not", corev1.PodSpec{NodeSelector: map[string]string{"gpu": "yes"}}, nil, false},
		{"by its affinity", corev1.PodSpec{Affinity: in("kube-1", "kube-0")}, nil, true},
		{"not against it", corev1.PodSpec{Affinity: in("kube-1")}, nil, false},
		{"nowhere with an affinity that says nothing", corev1.PodSpec{Affinity: malformed}, nil, false},
		{"not where a taint keeps it off", corev1.PodSpec{}, []func(*corev1.Node){taint(corev1.TaintEffectNoSchedule)},
			false},
		{"not where a taint would throw it out", corev1.PodSpec{},
			[]func(*corev1.Node){taint(corev1.TaintEffectNoExecute)}, false},
		{"where a taint would rather not have it", corev1.PodSpec{},
			[]func(*corev1.Node){taint(corev1.TaintEffectPreferNoSchedule)}, true},
		{"where it tolerates the taints", tolerant,
			[]func(*corev1.Node){taint(corev1.TaintEffectNoSchedule), taint(corev1.TaintEffectNoExecute)}, true},
		{"on a cordoned one", corev1.PodSpec{}, []func(*corev1.Node){nodesettest.SetCordoned}, true},
		{"not on one that goes", corev1.PodSpec{},
			[]func(*corev1.Node){func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(nodesettest.Noon)) }},
			false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := CanRunOn(&tc.spec, nodesettest.NewKubeNode("kube-0", tc.node...)); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}

// newObservation returns an observation of NodeSet gpu: idle workers of the newest revision.
func newObservation(workers int, change ...func(*Observation)) *Observation {
	s := &Observation{NodeSet: nodesettest.NewNodeSet(int32(workers)), ClusterRef: "slurm",
		Revision: render.Revision{Hash: "new"}, KubeNodes: map[string]*corev1.Node{}}
	for i := range workers {
		s.Workers = append(s.Workers, observed.Worker(nodesettest.NewWorkerPod(i), nil, nil))
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestATaintKeepsTheWorkerUnlessItIsNoExecute(t *testing.T) {
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: effect}} }
	}
	for _, tc := range []struct {
		name   string
		node   func(*corev1.Node)
		worker bool
		want   bool
	}{
		{"NoSchedule with a worker", taint(corev1.TaintEffectNoSchedule), true, true},
		{"NoSchedule without one", taint(corev1.TaintEffectNoSchedule), false, false},
		{"NoExecute with a worker", taint(corev1.TaintEffectNoExecute), true, false},
		{"PreferNoSchedule without one", taint(corev1.TaintEffectPreferNoSchedule), false, true},
		{"a node that is being deleted", func(n *corev1.Node) {
			n.DeletionTimestamp = new(metav1.NewTime(nodesettest.Noon))
		}, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newObservation(0, func(s *Observation) {
				s.KubeNodes["kube-0"] = nodesettest.NewKubeNode("kube-0", tc.node)
				if tc.worker {
					s.Workers = []plan.Worker{{Pod: "gpu-a", Slot: plan.Slot{Ordinal: plan.NoOrdinal, KubeNode: "kube-0"}}}
				}
			})
			if got := len(matchingKubeNodes(s)) == 1; got != tc.want {
				t.Errorf("a worker is wanted: %t, want %t", got, tc.want)
			}
		})
	}
}
