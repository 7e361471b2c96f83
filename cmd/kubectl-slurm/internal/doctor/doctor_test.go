package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// newHealthy returns observations of a namespace without faults.
func newHealthy() *Observed {
	available := &apiregistrationv1.APIService{Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
		{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue},
	}}}
	n := v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "gpu"}}
	n.Spec.ClusterRef = &corev1.LocalObjectReference{Name: "alpha"}
	n.Spec.Replicas = ptr(int32(2))
	alpha := v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "alpha"}}
	alpha.Spec.Server = "http://slurm:6820"
	return &Observed{
		Now: now, User: "alice", TokenWarning: 24 * time.Hour,
		APIServices: map[string]*apiregistrationv1.APIService{MetricsServiceV1beta1: available,
			MetricsServiceV1beta2: available,
			ViewService:           available},
		NodeSets: []v1beta1.NodeSet{n}, Clusters: []v1beta1.Cluster{alpha},
		Autoscalers: []autoscalingv2.HorizontalPodAutoscaler{newAutoscaler("gpu", "gpu")},
		Read:        map[Kind]bool{NodeSets: true, Clusters: true, Controllers: true, Autoscalers: true},
		Required:    map[Object]Metric{{v1beta1.KindNodeSet, "hpc", "gpu"}: {Number: 2}},
		Running:     map[Object]Metric{{v1beta1.KindCluster, "hpc", "alpha"}: {Number: 5}},
		Tokens: []Token{{Cluster: Object{v1beta1.KindCluster, "hpc", "alpha"}, Secret: "token", Key: "SLURM_JWT",
			State: TokenGood, ExpiresAt: now.Add(48 * time.Hour)}},
		Operator: &Operator{Leases: []coordinationv1.Lease{newLease(now.Add(-3 * time.Second))}},
	}
}

// namespaceLeases returns the Lease with which an operator works in a namespace.
func namespaceLeases(namespace string, renewed time.Time) []coordinationv1.Lease {
	l := newLease(renewed)
	l.Namespace, l.Name = namespace, "slurm-operator-namespace"
	return []coordinationv1.Lease{l}
}

func newLease(renewed time.Time) coordinationv1.Lease {
	return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr("pod"), LeaseDurationSeconds: ptr(int32(15)), RenewTime: ptr(metav1.NewMicroTime(renewed)),
	}}
}

// newAutoscaler returns an HPA like those in docs/examples/hpa.
func newAutoscaler(name, nodeSet string) autoscalingv2.HorizontalPodAutoscaler {
	h := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name}}
	h.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1",
			Kind: "NodeSet", Name: nodeSet},
		MinReplicas: ptr(int32(0)), MaxReplicas: 20,
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ObjectMetricSourceType,
			Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "NodeSet", Name: nodeSet},
				Metric:          autoscalingv2.MetricIdentifier{Name: "slurm_nodeset_required_nodes"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
					AverageValue: ptr(resource.MustParse("1"))},
			}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			Tolerance: ptr(resource.MustParse("0")),
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 100,
				PeriodSeconds: 15}},
		}},
	}
	return h
}

func setAsleep(h *autoscalingv2.HorizontalPodAutoscaler) {
	h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive,
		Status: corev1.ConditionFalse, Reason: "ScalingDisabled"}}
}

func TestAHealthyClusterHasNoFindings(t *testing.T) {
	if got := Examine(*newHealthy(), nil); len(got.Findings) != 0 || len(got.NotChecked) != 0 {
		t.Errorf("found %+v", got)
	}
}

// brokenCases are faults with all findings that they cause.
func brokenCases() []brokenCase {
	gpu, alpha := Object{"NodeSet", "hpc", "gpu"}, Object{"Cluster", "hpc", "alpha"}
	one := func(c Code) []Code { return []Code{c} }
	return []brokenCase{
		{"no right to NodeSets", func(s *Observed) {
			s.NodeSets, s.Read[NodeSets] = nil, false
			s.Denied = []Denied{{Access: "list nodesets.slinky.slurm.net", Namespace: "hpc"}}
		}, one(MissingRight)},
		{"no permissions of two roles", func(s *Observed) {
			s.Denied = []Denied{{Access: "list nodesets.slinky.slurm.net"},
				{Access: "list slurmjobs.view.slinky.slurm.net"}}
		}, []Code{MissingRight, MissingRight}},
		{"a probe that lists steps", func(s *Observed) {
			s.NodeSets[0].Spec.Slurmd = v1beta1.Raw{Raw: []byte(
				`{"readinessProbe":{"exec":{"command":["scontrol","show","slurmd"]}}}`)}
		}, one(ProbeListsSteps)},
		{"no view", func(s *Observed) { s.APIServices[ViewService] = nil }, one(APIServiceMissing)},
		{"no adapter: consequences are not reported", func(s *Observed) {
			s.APIServices[MetricsServiceV1beta2] = nil
			s.Required[gpu], s.Running[alpha] = Metric{Fault: NotServed}, Metric{Fault: NotServed}
		}, one(APIServiceMissing)},
		{"an APIService that is not available", func(s *Observed) {
			s.APIServices[MetricsServiceV1beta2] = &apiregistrationv1.APIService{Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
				{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse,
					Reason: "MissingEndpoints"},
			}}}
			s.Required[gpu] = Metric{Fault: Unavailable}
		}, one(APIServiceUnavailable)},
		{"metrics of another adapter", func(s *Observed) { s.Required[gpu] = Metric{Fault: NotServed} },
			one(MetricsOfAnother)},
		{"a stale snapshot is reported once", func(s *Observed) {
			said := Metric{Fault: Unavailable, Message: "Slurm cluster hpc/alpha: its nodes were last read 3m ago"}
			s.Required[gpu], s.Running[alpha] = said, said
		}, one(StaleSnapshot)},
		{"no Secret", func(s *Observed) { s.Tokens[0].State = NoSecret }, one(SecretMissing)},
		{"no key", func(s *Observed) { s.Tokens[0].State = NoKey }, one(SecretMissing)},
		{"no token", func(s *Observed) { s.Tokens[0].State = NoToken }, one(TokenUnreadable)},
		{"an expired token", func(s *Observed) { s.Tokens[0].ExpiresAt = now.Add(-time.Second) }, one(TokenExpired)},
		{"a token that expires soon", func(s *Observed) { s.Tokens[0].ExpiresAt = now.Add(time.Hour) },
			one(TokenExpiring)},
		{"a short-lived token that a Token renews", func(s *Observed) {
			s.Tokens[0].ExpiresAt, s.Tokens[0].Lifetime, s.Tokens[0].RenewedBy = now.Add(20*time.Minute), time.Hour,
				"jwt"
		}, nil},
		{"a token whose renewal is overdue", func(s *Observed) {
			s.Tokens[0].ExpiresAt, s.Tokens[0].Lifetime, s.Tokens[0].RenewedBy = now.Add(5*time.Minute), time.Hour,
				"jwt"
		}, one(TokenExpiring)},
		{"a renewed token of unknown lifetime", func(s *Observed) {
			s.Tokens[0].ExpiresAt, s.Tokens[0].RenewedBy = now.Add(time.Hour), "jwt"
		}, one(TokenExpiring)},
		{"a token without expiry", func(s *Observed) { s.Tokens[0].ExpiresAt = time.Time{} }, nil},
		{"no Cluster: consequences are not reported", func(s *Observed) {
			s.Clusters = nil
			s.Required[gpu] = Metric{Fault: Unavailable}
			s.NodeSets[0].Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False",
				Reason: "ReferenceNotFound"}}
		}, one(ClusterMissing)},
		{"Clusters that could not be read are not missing",
			func(s *Observed) { s.Clusters, s.Read[Clusters] = nil, false }, nil},
		{"a Cluster that is not ready", func(s *Observed) {
			s.Clusters[0].Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False",
				Reason: "Unauthorized"}}
		}, one(ClusterNotReady)},
		{"a NodeSet that is not ready", func(s *Observed) {
			s.NodeSets[0].Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False",
				Reason: "InvalidSpec"}}
		}, one(NodeSetNotReady)},
		{"a NodeSet that progresses", func(s *Observed) {
			s.NodeSets[0].Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False",
				Reason: "Progressing"}}
		}, nil},
		{"no operator", func(s *Observed) { s.Operator.Leases = nil }, one(OperatorNotRunning)},
		{"an operator whose lease has expired",
			func(s *Observed) { s.Operator.Leases[0] = newLease(now.Add(-time.Minute)) }, one(OperatorNotRunning)},
		{"an operator that works in the namespace", func(s *Observed) { s.Operator.Namespaces = namespaceLeases("hpc", now) }, nil},
		{"an operator that works elsewhere", func(s *Observed) { s.Operator.Namespaces = namespaceLeases("other", now) },
			[]Code{NamespaceNotManaged, NamespaceNotManaged}}, // of the Cluster and the NodeSet
		{"an operator that has left the namespace", func(s *Observed) { s.Operator.Namespaces = namespaceLeases("hpc", now.Add(-time.Minute)) },
			[]Code{NamespaceNotManaged, NamespaceNotManaged}},
		{"an operator without leader election", func(s *Observed) { s.Operator = &Operator{ReadyPods: 1} }, nil},
		{"an operator that could not be read", func(s *Observed) { s.Operator = nil }, nil},
	}
}

type brokenCase struct {
	name    string
	breakIt func(s *Observed)
	want    []Code
}

func TestEachFaultIsFoundAndNamesACure(t *testing.T) {
	for _, tc := range slices.Concat(brokenCases(), brokenAutoscalerCases(), brokenHybridCases(), brokenHolderCases()) {
		t.Run(tc.name, func(t *testing.T) {
			observed := newHealthy()
			tc.breakIt(observed)
			got := Examine(*observed, nil)
			var codes []Code
			for _, f := range got.Findings {
				codes = append(codes, f.Code)
				if f.Problem == "" || f.Cure == "" || f.Object.Name == "" || strings.Contains(f.Cure+f.Command, "\n") {
					t.Errorf("it is incomplete: %+v", f)
				}
			}
			if diff := cmp.Diff(tc.want, codes); diff != "" {
				t.Errorf("found %+v\n%s", got.Findings, diff)
			}
			if ignored := Examine(*observed, Codes()); len(ignored.Findings) != 0 || ignored.Ignored != len(tc.want) {
				t.Errorf("with all faults ignored: %+v", ignored)
			}
		})
	}
}

func TestEveryCodeIsFoundByATest(t *testing.T) {
	found := map[Code]bool{}
	for _, tc := range slices.Concat(brokenCases(), brokenAutoscalerCases(), brokenHybridCases(), brokenHolderCases()) {
		for _, c := range tc.want {
			found[c] = true
		}
	}
	for _, c := range Codes() {
		if !found[c] {
			t.Errorf("%s is never found", c)
		}
	}
}

func TestQuoteShell(t *testing.T) {
	for word, want := range map[string]string{"alice": "alice", "a b": "'a b'", "it's": `'it'\''s'`, "": "''",
		"system:serviceaccount:x:y": "system:serviceaccount:x:y", "$(rm)": "'$(rm)'"} {
		if got := quoteShell(word); got != want {
			t.Errorf("%q becomes %s", word, got)
		}
	}
}
