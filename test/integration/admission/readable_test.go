//go:build e2e

package admission

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestNoObjectKeepsOthersFromBeingRead: without the webhook, the API server itself refuses objects that Go cannot read. One such NodeSet in
// any namespace would keep the operator from reading all NodeSets.
func TestNoObjectKeepsOthersFromBeingRead(t *testing.T) {
	s := newEnv(t)
	for _, strategy := range []string{
		`{scheduledUpdate: {startTime: "2026-09-01t00:00:00z"}}`,
		`{scheduledUpdate: {startTime: "2026-09-01T00:00:00+99:99"}}`,
		`{rollingUpdate: {maxUnavailable: 2147483648}}`,
	} {
		err := s.cluster.Apply(t.Context(), "{apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {name: a, namespace: team}, "+
			"spec: {controllerRef: {name: slurm}, updateStrategy: "+strategy+"}}")
		if err == nil || !strings.Contains(err.Error(), "invalid") {
			t.Errorf("%s: the error is %v", strategy, err)
		}
	}
	err := s.cluster.Apply(t.Context(), `{apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {name: b, namespace: team}, `+
		`spec: {controllerRef: {name: slurm}, updateStrategy: {rollingUpdate: {maxUnavailable: 3}, scheduledUpdate: {startTime: "2026-09-01T00:00:00+02:00"}}}}`)
	if err != nil {
		t.Error(err)
	}
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed, err := client.New(s.config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	list := &v1beta1.NodeSetList{}
	if err := typed.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Errorf("there are %d NodeSets, %v", len(list.Items), err)
	}
}
