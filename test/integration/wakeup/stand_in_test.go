//go:build e2e

package wakeup

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// startStatusStandIn makes the status of every NodeSet follow its spec, as if workers were
// created and deleted at once. It ends with the test.
func startStatusStandIn(t *testing.T, c *realkube.Cluster) {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	nodeSets, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			followSpecs(ctx, t, nodeSets)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func followSpecs(ctx context.Context, t *testing.T, nodeSets client.Client) {
	var list v1beta1.NodeSetList
	if err := nodeSets.List(ctx, &list); err != nil {
		return // the API server may be restarting; the next turn retries
	}
	for i := range list.Items {
		s := &list.Items[i]
		if s.Spec.Replicas == nil || s.Status.Replicas == *s.Spec.Replicas && s.Status.Selector != "" {
			continue
		}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{
			"replicas": *s.Spec.Replicas, "selector": "test=" + s.Name, "nodeSetHash": "test",
		}})
		if err != nil {
			t.Error(err)
			return
		}
		err = nodeSets.Status().Patch(ctx, s, client.RawPatch(types.MergePatchType, patch),
			client.FieldOwner("slurm-operator-nodeset"))
		if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			t.Logf("stand-in: %v", err)
		}
	}
}
