//go:build e2e

package charts

import (
	"slices"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestHealthChecks evaluates the expressions of a cluster's release as Flux does. Flux waits for an object while neither expression is
// true.
func TestHealthChecks(t *testing.T) {
	text := mustRun(t)(renderChart(t, "slurm-flux", "--values", valuesFiles(t, "slurm-flux")["tenant"]))
	checks := map[string]healthCheck{}
	for _, check := range helmReleasesIn(t, text)["slurm-cluster-hpc"].Spec.HealthCheckExprs {
		if check.APIVersion != v1beta1.SchemeGroupVersion.String() {
			t.Errorf("%s is of %s", check.Kind, check.APIVersion)
		}
		checks[check.Kind] = check
	}
	for _, tc := range healthCases() {
		for _, object := range objectsWith(tc.conditions) {
			if !slices.Contains(tc.kinds, object.kind) {
				continue
			}
			if got := evaluateHealth(t, checks[object.kind], object.content); got != tc.want {
				t.Errorf("%s (%s): %q, want %q", tc.name, object.kind, got, tc.want)
			}
			delete(object.content, "status")
			if got := evaluateHealth(t, checks[object.kind], object.content); got != "" {
				t.Errorf("a new %s is %q", object.kind, got)
			}
		}
	}
}

// healthCase is a set of conditions and the expected health of objects of some kinds that have them: "current", "failed" or neither.
type healthCase struct {
	name       string
	kinds      []string
	conditions []metav1.Condition
	want       string
}

func healthCases() []healthCase {
	ready := func(status metav1.ConditionStatus, reason string, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, ObservedGeneration: 2},
			{Type: v1beta1.ConditionReady, Status: status, Reason: reason, ObservedGeneration: generation}}
	}
	available := ready(metav1.ConditionTrue, v1beta1.ReasonAvailable, 2)
	progressing := ready(metav1.ConditionFalse, v1beta1.ReasonProgressing, 2)
	invalid := ready(metav1.ConditionFalse, v1beta1.ReasonInvalidSpec, 2)
	daemons, nodeSets := []string{"Controller", "Accounting", "RestApi", "LoginSet"}, []string{"NodeSet"}
	return []healthCase{
		{"a daemon that is Ready", daemons, available, "current"},
		{"a daemon that runs elsewhere", daemons, ready(metav1.ConditionUnknown, v1beta1.ReasonExternal, 2), "current"},
		{"a daemon that was Ready before a change", daemons, ready(metav1.ConditionTrue, v1beta1.ReasonAvailable, 1), ""},
		{"a daemon that starts", daemons, progressing, ""},
		{"a daemon of which nothing is known", daemons, nil, ""},
		{"an invalid daemon", daemons, invalid, "failed"},
		{"a NodeSet whose workers wait", nodeSets, progressing, "current"},
		{"a NodeSet of which nothing is known", nodeSets, nil, ""},
		{"an invalid NodeSet", nodeSets, invalid, "failed"},
	}
}

// evaluateHealth returns "failed" or "current" if that expression is true, and "" if neither is true or can be evaluated.
func evaluateHealth(t *testing.T, check healthCheck, object map[string]any) string {
	t.Helper()
	environment, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(),
		ext.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct{ name, text string }{{"failed", check.Failed}, {"current", check.Current}} {
		parsed, issues := environment.Parse(e.text)
		if issues.Err() != nil {
			t.Fatalf("%s of %s: %v", e.name, check.Kind, issues.Err())
		}
		program, err := environment.Program(parsed)
		if err != nil {
			t.Fatal(err)
		}
		if result, _, err := program.Eval(object); err == nil && result.Value() == true {
			return e.name
		}
	}
	return ""
}

// kindOfObject is an object of the operator's group.
type kindOfObject struct {
	kind    string
	content map[string]any
}

// objectsWith returns an object of each kind that a cluster consists of, with generation 2 and the conditions.
func objectsWith(conditions []metav1.Condition) []kindOfObject {
	meta := metav1.ObjectMeta{Generation: 2}
	var out []kindOfObject
	for kind, object := range map[string]any{
		"Controller": &v1beta1.Controller{ObjectMeta: meta, Status: v1beta1.ControllerStatus{Conditions: conditions}},
		"Accounting": &v1beta1.Accounting{ObjectMeta: meta, Status: v1beta1.AccountingStatus{Conditions: conditions}},
		"RestApi":    &v1beta1.RestApi{ObjectMeta: meta, Status: v1beta1.RestApiStatus{Conditions: conditions}},
		"LoginSet":   &v1beta1.LoginSet{ObjectMeta: meta, Status: v1beta1.LoginSetStatus{Conditions: conditions}},
		"NodeSet":    &v1beta1.NodeSet{ObjectMeta: meta, Status: v1beta1.NodeSetStatus{Conditions: conditions}},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			panic(err) // the types are ours
		}
		out = append(out, kindOfObject{kind, content})
	}
	return out
}
