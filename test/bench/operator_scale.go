package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// createObjects creates the objects to scale: a Deployment, and a NodeSet on the simulated Slurm.
func (s *operatorEnv) createObjects(ctx context.Context) error {
	return s.control.Kube.Apply(ctx, fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: bench}
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: bench, annotations: {slinky.slurm.net/slurm-token: "true"}}
stringData: {SLURM_JWT: t, slurm.key: k}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: sim, namespace: bench}
spec:
  server: %q
  token: {secretRef: {name: keys, key: SLURM_JWT}}
  slurmctld: {host: slurmctld.bench, port: 6817}
  slurmKeyRef: {name: keys, key: slurm.key}
---
apiVersion: v1
kind: Service
metadata: {name: served, namespace: bench}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: deployment-served}, ports: [{port: 6818}]}
`, s.slurmrestdURL)+deploymentManifest("deployment")+deploymentManifest("deployment-served")+nodeSetManifest("nodeset", workerCount))
}

func deploymentManifest(name string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: bench}
spec:
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: slurmd, image: none, resources: {limits: {cpu: "4", memory: 8Gi}}}]
`, name)
}

func nodeSetManifest(name string, most int) string {
	return fmt.Sprintf(`---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: %s, namespace: bench}
spec:
  clusterRef: {name: sim}
  replicas: 0
  maxReplicas: %d
  oversubscribeNode: true
  slurmd: {image: none, resources: {limits: {cpu: "4", memory: 8Gi}}}
  template: {}
`, name, most)
}

// addNodeSets adds the given number of NodeSets, and waits until they are reconciled.
func (s *operatorEnv) addNodeSets(ctx context.Context, count int) error {
	var b strings.Builder
	for i := range count {
		b.WriteString(nodeSetManifest(fmt.Sprintf("more%02d", i), 2))
	}
	if err := s.control.Kube.Apply(ctx, b.String()); err != nil {
		return err
	}
	_, err := s.timeUntilNoneMissing(ctx, func() error { return nil },
		func(context.Context) (string, error) { return s.missingFutureRecords(workerCount + 2*count), nil })
	return err
}

// awaitRecords waits until jobs could be submitted for every worker.
func (s *operatorEnv) awaitRecords(ctx context.Context) error {
	_, err := s.timeUntilNoneMissing(ctx, func() error { return nil }, s.missingWorkerRecords)
	return err
}

const (
	checkInterval = 100 * time.Millisecond
	patience      = 5 * time.Minute
)

// timeUntilNoneMissing calls begin, and returns the seconds until missing reports that nothing is missing.
func (s *operatorEnv) timeUntilNoneMissing(ctx context.Context, begin func() error,
	missing func(context.Context) (string, error)) (float64, error) {
	start := time.Now()
	if err := begin(); err != nil {
		return 0, err
	}
	for {
		what, err := missing(ctx)
		if err != nil || what == "" {
			return time.Since(start).Seconds(), err
		}
		if time.Since(start) > patience {
			return 0, errors.New("waited in vain: " + what)
		}
		if err := sleep(ctx, checkInterval); err != nil {
			return 0, err
		}
	}
}

// resourceOf returns the resource of a scaled object.
func resourceOf(name string) schema.GroupVersionResource {
	if strings.HasPrefix(name, "deployment") {
		return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	}
	return schema.GroupVersionResource{Group: "slinky.slurm.net", Version: "v1beta1", Resource: "nodesets"}
}

func (s *operatorEnv) scale(ctx context.Context, name string, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := s.objects.Resource(resourceOf(name)).Namespace("bench").Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}

// readyReplicas returns how many pods of the object are Ready according to its status.
func (s *operatorEnv) readyReplicas(ctx context.Context, name string) (int64, error) {
	obj, err := s.objects.Resource(resourceOf(name)).Namespace("bench").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	n, _, err := unstructured.NestedInt64(obj.Object, "status", "readyReplicas")
	return n, err
}

func (s *operatorEnv) missingDeploymentPods(ctx context.Context, name string) (string, error) {
	n, err := s.readyReplicas(ctx, name)
	return messageUnless(n == workerCount, "%d of %d pods are ready", n, workerCount), err
}

// missingWorkers compares the NodeSet's status and Slurm with the wanted number of workers.
func (s *operatorEnv) missingWorkers(ctx context.Context) (string, error) {
	n, err := s.readyReplicas(ctx, "nodeset")
	if err != nil || n != workerCount {
		return messageUnless(false, "%d of %d workers are ready", n, workerCount), err
	}
	idle := 0
	for _, node := range s.slurm.Nodes() {
		if node.State.Base == slurm.NodeIdle && !node.State.Any(slurm.NodeDrain|slurm.NodeNotResponding) {
			idle++
		}
	}
	return messageUnless(idle == workerCount, "%d of %d slurm nodes are idle", idle, workerCount), nil
}

func (s *operatorEnv) remainingPods(context.Context) (string, error) {
	n := s.kubelets.podCount()
	return messageUnless(n == 0, "%d pods are left", n), nil
}

func (s *operatorEnv) missingWorkerRecords(context.Context) (string, error) {
	return s.missingFutureRecords(workerCount), nil
}

func (s *operatorEnv) missingFutureRecords(want int) string {
	n, all := 0, s.slurm.Nodes()
	for i := range all {
		if all[i].State.Base == slurm.NodeFuture {
			n++
		}
	}
	return messageUnless(n == want && len(all) == want, "%d of %d records are FUTURE, of %d", n, want, len(all))
}

func messageUnless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// listCounts are how often nodes and jobs were listed.
type listCounts struct{ nodes, jobs float64 }

// listsPerPeriod counts lists for some periods of the polls while the number of replicas is constant.
func (s *operatorEnv) listsPerPeriod(ctx context.Context) (listCounts, error) {
	if err := sleep(ctx, settleTime); err != nil {
		return listCounts{}, err
	}
	s.slurm.ResetRequests()
	if err := sleep(ctx, listPeriods*slurmclient.DefaultPeriod); err != nil {
		return listCounts{}, err
	}
	var l listCounts
	for what, n := range s.slurm.RequestCounts() {
		switch list, _ := listedResource(what); list {
		case "nodes":
			l.nodes += float64(n) / listPeriods
		case "jobs":
			l.jobs += float64(n) / listPeriods
		}
	}
	return l, nil
}

// listedResource returns which polled resource a request lists: nodes or jobs.
func listedResource(what string) (string, bool) {
	path, ok := strings.CutPrefix(what, "GET ")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if !ok || len(parts) < 3 || parts[2] != "nodes" && parts[2] != "jobs" {
		return "", false
	}
	return parts[2], true
}

// otherRequests returns the number of requests other than polls.
func otherRequests(c *slurmtest.Cluster) int {
	total := 0
	for what, n := range c.RequestCounts() {
		if strings.Contains(what, "/node/") || strings.Contains(what, "/new/") {
			total += n
		}
	}
	return total
}
