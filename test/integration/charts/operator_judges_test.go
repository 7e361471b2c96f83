//go:build e2e

package charts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/admission"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// judgement is the operator's result for the objects of a chart.
type judgement struct {
	// complaints are the errors, each with its object.
	complaints []string
	// created are the objects that the operator created. configs are the files beside slurm.conf of each Controller.
	created []client.Object
	configs map[string]map[string]string
	// records are the options of the records that the operator created, by Controller and NodeSet.
	records map[string]map[string]string
	// nodeSets counts the NodeSets. Each of them got a worker or has a complaint.
	nodeSets int
}

func (j *judgement) complain(o client.Object, format string, args ...any) {
	j.complaints = append(j.complaints, fmt.Sprintf("%s %s: ", kindOf(o), o.GetName())+fmt.Sprintf(format, args...))
}

// judgeObjects runs the operator's own webhooks, observations and renderers on the output of a chart.
func judgeObjects(t *testing.T, text string) *judgement {
	t.Helper()
	owners := readObjects(t, text)
	j := &judgement{configs: map[string]map[string]string{}, records: map[string]map[string]string{}}
	for _, o := range owners {
		j.judgeAdmission(o)
	}
	j.judgeTargets(owners)
	s := newJudgedStore(t, owners)
	for _, o := range owners {
		if recorder, reconciler := s.newReconciler(o); reconciler != nil {
			s.reconcile(j, o, reconciler)
			j.judgeEvents(o, recorder)
			j.judgeConditions(t, s, o)
		}
	}
	s.collect(j)
	for _, o := range owners {
		if n, isNodeSet := o.(*v1beta1.NodeSet); isNodeSet {
			j.nodeSets++
			j.judgeNodeSet(n)
		}
	}
	slices.Sort(j.complaints)
	return j
}

// warningsOfUnsupported begin the warnings about what values can ask for and the operator does not do.
var warningsOfUnsupported = []string{"spec.jwksKeyRef: is not supported yet", "spec.workloadDisruptionProtection: is supported in part"}

// judgeAdmission validates an object as the webhooks do.
func (j *judgement) judgeAdmission(o client.Object) {
	var warnings []string
	var errs field.ErrorList
	switch o := o.(type) {
	case *v1beta1.Controller:
		warnings, errs = admission.ValidateController(nil, o)
	case *v1beta1.Accounting:
		warnings, errs = admission.ValidateAccounting(nil, o)
	case *v1beta1.RestApi:
		warnings, errs = admission.ValidateRestApi(nil, o)
	case *v1beta1.LoginSet:
		warnings, errs = admission.ValidateLoginSet(nil, o)
	case *v1beta1.NodeSet:
		warnings, errs = admission.ValidateNodeSet(nil, o)
	}
	if len(errs) > 0 {
		j.complain(o, "the webhook refuses it: %v", errs.ToAggregate())
	}
	for _, warning := range warnings {
		if !slices.ContainsFunc(warningsOfUnsupported, func(begin string) bool { return strings.HasPrefix(warning, begin) }) {
			j.complain(o, "the webhook warns: %s", warning)
		}
	}
}

// judgeTargets complains about autoscalers whose target the chart does not render.
func (j *judgement) judgeTargets(owners []client.Object) {
	type target struct{ apiVersion, kind, namespace, name string }
	rendered := map[target]bool{}
	for _, o := range owners {
		apiVersion, kind := o.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		rendered[target{apiVersion, kind, o.GetNamespace(), o.GetName()}] = true
	}
	for _, o := range owners {
		if h, isAutoscaler := o.(*autoscalingv2.HorizontalPodAutoscaler); isAutoscaler {
			ref := h.Spec.ScaleTargetRef
			if !rendered[target{ref.APIVersion, ref.Kind, h.Namespace, ref.Name}] {
				j.complain(h, "its target does not exist: %s %s of %s", ref.Kind, ref.Name, ref.APIVersion)
			}
		}
	}
}

// judgeEvents complains about warnings that a reconciler recorded.
func (j *judgement) judgeEvents(o client.Object, recorder *events.FakeRecorder) {
	for event := kubetest.NextEvent(recorder); event != ""; event = kubetest.NextEvent(recorder) {
		if strings.HasPrefix(event, corev1.EventTypeWarning) {
			j.complain(o, "event %s", event)
		}
	}
}

// expectedReasons are the reasons of conditions with which there is no contradiction. No pod of the store runs.
var expectedReasons = map[string][]string{
	v1beta1.ConditionReady:       {v1beta1.ReasonProgressing, v1beta1.ReasonExternal, v1beta1.ReasonAvailable},
	v1beta1.ConditionSubmittable: {v1beta1.ReasonRecordsReady, v1beta1.ReasonNoMaximum, v1beta1.ReasonShapeUnknown, v1beta1.ReasonNamesUnknown},
}

// judgeConditions complains about conditions that report a contradiction.
func (j *judgement) judgeConditions(t *testing.T, s *judgedStore, o client.Object) {
	t.Helper()
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	conditions := *conditionsOf(o)
	if meta.FindStatusCondition(conditions, v1beta1.ConditionReady) == nil {
		j.complain(o, "there is no condition Ready")
	}
	for _, c := range conditions {
		if expected, judged := expectedReasons[c.Type]; judged && !slices.Contains(expected, c.Reason) {
			j.complain(o, "condition %s has the reason %s: %s", c.Type, c.Reason, c.Message)
		}
		_, isNodeSet := o.(*v1beta1.NodeSet)
		if text, isPending := strings.CutSuffix(c.Message, " workers are in service"); isNodeSet && c.Type == v1beta1.ConditionReady &&
			(!isPending || !strings.HasPrefix(text, "0 of ")) {
			j.complain(o, "condition Ready says %s", c.Message)
		}
	}
}

// judgeNodeSet compares a NodeSet with its workers and with the configuration of its Controller.
func (j *judgement) judgeNodeSet(n *v1beta1.NodeSet) {
	workers := 0
	for _, o := range j.created {
		pod, isPod := o.(*corev1.Pod)
		if !isPod || pod.Labels[v1beta1.LabelAppName] != v1beta1.AppSlurmd || !isOwnedBy(pod, n) {
			continue
		}
		workers++
		if features := slurmdOptions(pod).List("Feature"); len(features) == 0 || features[0] != n.Name {
			j.complain(n, "worker %s has the features %q", pod.Name, features)
		}
	}
	if workers == 0 {
		j.complain(n, "there is no worker")
	}
	if ref := n.Spec.ControllerRef; ref != nil && j.configs[ref.Name] != nil {
		j.judgeSlurmConf(n, j.configs[ref.Name])
	}
}

// judgeSlurmConf complains if slurm.conf lacks what the workers of a NodeSet need.
func (j *judgement) judgeSlurmConf(n *v1beta1.NodeSet, files map[string]string) {
	settings := slurmconf.ParseFiles(files, files["slurm.conf"])
	has := func(word ...string) bool {
		return slices.ContainsFunc(settings, func(s slurmconf.Setting) bool {
			return !slices.ContainsFunc(word, func(w string) bool { return !slices.Contains(strings.Fields(s.Text), w) })
		})
	}
	if !has("NodeSet="+n.Name, "Feature="+n.Name) {
		j.complain(n, "slurm.conf does not define it:\n%s", files["slurm.conf"])
	}
	if p := n.Spec.Partition; p != nil && p.Enabled && !has("PartitionName="+n.Name, "Nodes="+n.Name) {
		j.complain(n, "slurm.conf has no partition of it:\n%s", files["slurm.conf"])
	}
	for _, kind := range slurmconf.GRESKinds(shape.GRESOfNodeSet(n)) {
		if !slices.ContainsFunc(settings, func(s slurmconf.Setting) bool {
			return strings.EqualFold(s.Name, "GresTypes") && slices.Contains(slurmconf.SplitList(s.Value), kind)
		}) {
			j.complain(n, "GresTypes of slurm.conf lacks %s:\n%s", kind, files["slurm.conf"])
		}
	}
}

// slurmdOptions returns the options of slurmd's --conf in a worker.
func slurmdOptions(pod *corev1.Pod) slurmconf.Options {
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == "SLURMD_CONF" {
				return slurmconf.ParseOptions(e.Value)
			}
		}
	}
	return slurmconf.Options{}
}

// isOwnedBy reports whether one of an object's owners is o.
func isOwnedBy(of, o client.Object) bool {
	for _, owner := range of.GetOwnerReferences() {
		if owner.UID == o.GetUID() {
			return true
		}
	}
	return false
}

// goldenTexts returns the golden files by name.
func goldenTexts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.golden.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	out := map[string]string{}
	for _, file := range files {
		out[file] = string(readFile(t, file))
	}
	return out
}

// withoutDefaults are the charts whose defaults do not render, since they need values.
var withoutDefaults = []string{"slurm-exporter"}

// chartTexts returns what every chart renders for every values file of its tests and for its own defaults, with the charts that it
// contains.
func chartTexts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, chart := range chartNames() {
		for title, file := range valuesFiles(t, chart) {
			text, err := renderChart(t, chart, "--values", file)
			if err != nil {
				t.Fatal(err)
			}
			out[chart+" with "+title] = text
		}
		text, err := renderChart(t, chart)
		if refuses := slices.Contains(withoutDefaults, chart); refuses != (err != nil) {
			t.Errorf("chart %s with its defaults: the error is %v, is one expected: %t", chart, err, refuses)
		}
		if err == nil {
			out[chart+" with its defaults"] = text
		}
	}
	return out
}

// TestTheOperatorAcceptsWhatChartsRender: the golden files, and what every chart renders for the values of its tests.
func TestTheOperatorAcceptsWhatChartsRender(t *testing.T) {
	texts := goldenTexts(t)
	for title, text := range chartTexts(t) {
		texts[title] = text
	}
	nodeSets := 0
	for _, title := range sortedKeys(texts) {
		j := judgeObjects(t, texts[title])
		nodeSets += j.nodeSets
		for _, complaint := range j.complaints {
			t.Errorf("%s: %s", title, complaint)
		}
	}
	t.Logf("%d texts with %d NodeSets", len(texts), nodeSets)
	if nodeSets == 0 {
		t.Error("there are no NodeSets")
	}
}
