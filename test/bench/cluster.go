package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const (
	// clusterCount is how many Slurm clusters there are at the end.
	clusterCount = 50
	// idleTime is how long the operator is watched while nothing changes.
	idleTime = time.Minute
)

// clusterKinds are the resources of a Slurm cluster, with the conditions that must be True once it is up.
var clusterKinds = map[string][]string{
	"controllers": {v1beta1.ConditionReady, v1beta1.ConditionConfigApplied},
	"accountings": {v1beta1.ConditionReady, v1beta1.ConditionConfigApplied},
	"restapis":    {v1beta1.ConditionReady},
	"loginsets":   {v1beta1.ConditionReady},
}

// benchCluster creates one Slurm cluster of custom resources and then many, on fake kubelets and fake agents. It counts
// the operator's requests to Kubernetes, also while nothing changes.
func benchCluster(ctx context.Context) ([]figure, error) {
	if missing := realkube.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	s, err := newClusterEnv(ctx)
	if err != nil {
		return nil, err
	}
	figures, err := s.measureClusters(ctx)
	if err != nil {
		err = fmt.Errorf("%w\nslurm-operator: %s", err, s.operatorLog())
	}
	return figures, errors.Join(err, s.close())
}

func newClusterEnv(ctx context.Context) (*operatorEnv, error) {
	s := &operatorEnv{operatorOutput: &lockedBuffer{}}
	return s, s.start(ctx, s.startSlurm, s.startKube, s.startPods, s.createKeys, s.startAgents, s.startOperator)
}

// createKeys creates the namespace with the Secrets that all clusters name.
func (s *operatorEnv) createKeys(ctx context.Context) error {
	return s.control.Kube.Apply(ctx, `apiVersion: v1
kind: Namespace
metadata: {name: bench}
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: bench}
stringData: {slurm.key: k, jwt.key: k, password: p, sssd.conf: "[sssd]"}
`)
}

// startAgents answers for the agents of all pods. Each reports that it has applied the configuration in its pod's
// annotation.
func (s *operatorEnv) startAgents(ctx context.Context) error {
	s.kubelets.useLoopback.Store(true)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("0.0.0.0:%d", names.SlurmAgentPort))
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(s.serveAgent)}
	s.closers = append(s.closers, server.Close)
	go func() { _ = server.Serve(listener) }()
	return nil
}

func (s *operatorEnv) serveAgent(w http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	address, _, _ := net.SplitHostPort(local.String())
	for _, obj := range s.kubelets.pods.GetStore().List() {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Status.PodIP == address {
			revision := pod.Annotations[v1beta1.AnnotationSlurmConfigHash]
			_ = json.NewEncoder(w).Encode(configagent.Status{Wanted: revision, Applied: revision})
			return
		}
	}
	http.NotFound(w, r)
}

func (s *operatorEnv) measureClusters(ctx context.Context) ([]figure, error) {
	one, err := s.timeClusters(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	many, err := s.timeClusters(ctx, 1, clusterCount)
	if err != nil {
		return nil, err
	}
	s.audit.reset()
	requests, err := s.operatorRequests(ctx)
	if err != nil {
		return nil, err
	}
	cpu := cpuOf(s.operator.Process.Pid)
	if err := sleep(ctx, idleTime); err != nil {
		return nil, err
	}
	cpu = cpuOf(s.operator.Process.Pid) - cpu
	after, err := s.operatorRequests(ctx)
	if err != nil {
		return nil, err
	}
	idle, err := s.audit.read()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "one cluster: %s\nthe others: %s\nidle: %s\n", one.writes, many.writes, idle)
	rss, err := processStatus(s.operator.Process.Pid, "VmRSS")
	if err != nil {
		return nil, err
	}
	all := func(string) bool { return true }
	return []figure{
		{"cluster_apply_to_ready_1", one.seconds, "s", ""},
		{"cluster_apply_to_ready_49_more", many.seconds, "s", ""},
		{"cluster_writes_1", float64(one.writes.count(all)), "writes", ""},
		{"cluster_writes_per_cluster", float64(many.writes.count(all)) / (clusterCount - 1), "writes", ""},
		{"cluster_idle_writes_per_minute_50", float64(idle.count(all)), "writes", "0"},
		{"cluster_idle_requests_per_minute_50", after - requests, "requests", ""},
		{"cluster_idle_cpu_share_50", cpu / idleTime.Seconds(), "cores", ""},
		{"cluster_operator_rss_50", rss, "MiB", ""},
	}, nil
}

// clusterRun is how some clusters came up.
type clusterRun struct {
	seconds float64
	writes  writeCounts
}

// timeClusters applies the clusters with the numbers from first up to, but not including, end. It waits until all are
// up.
func (s *operatorEnv) timeClusters(ctx context.Context, first, end int) (r clusterRun, err error) {
	var manifests strings.Builder
	for i := first; i < end; i++ {
		fmt.Fprintf(&manifests, clusterManifest, i)
	}
	s.audit.reset()
	r.seconds, err = s.timeUntilNoneMissing(ctx, func() error { return s.control.Kube.Apply(ctx, manifests.String()) },
		func(ctx context.Context) (string, error) { return s.missingClusters(ctx, end) })
	if err != nil {
		return r, err
	}
	if err := sleep(ctx, settleTime); err != nil {
		return r, err
	}
	r.writes, err = s.audit.read()
	return r, err
}

// missingClusters lists the objects of count clusters that are not up.
func (s *operatorEnv) missingClusters(ctx context.Context, count int) (string, error) {
	for resource, kinds := range clusterKinds {
		list, err := s.objects.Resource(v1beta1.SchemeGroupVersion.WithResource(resource)).Namespace("bench").
			List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		up := 0
		for i := range list.Items {
			if hasConditions(&list.Items[i], kinds) {
				up++
			}
		}
		if up < count {
			return fmt.Sprintf("%d of %d %s are up", up, count, resource), nil
		}
	}
	return "", nil
}

// hasConditions reports whether conditions of an object are True.
func hasConditions(object *unstructured.Unstructured, kinds []string) bool {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &status) != nil {
		return false
	}
	for _, kind := range kinds {
		if !meta.IsStatusConditionTrue(status.Status.Conditions, kind) {
			return false
		}
	}
	return true
}

// operatorRequests returns how many requests the operator has made to Kubernetes.
func (s *operatorEnv) operatorRequests(ctx context.Context) (float64, error) {
	_, body, err := httpGet(ctx, s.operatorMetrics)
	if err != nil {
		return 0, err
	}
	return sumSamples(string(body), "rest_client_requests_total{")
}

// clusterManifest is a Slurm cluster with a number. No pod can look up the release of its image.
const clusterManifest = `---
apiVersion: slinky.slurm.net/v1beta1
kind: Accounting
metadata: {name: c%[1]d, namespace: bench, annotations: {slinky.slurm.net/image-releases: none=26.05}}
spec:
  slurmKeyRef: {name: keys, key: slurm.key}
  jwtKeyRef: {name: keys, key: jwt.key}
  storageConfig: {host: mariadb, username: slurm, passwordKeyRef: {name: keys, key: password}}
  slurmdbd: {image: none}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: c%[1]d, namespace: bench, annotations: {slinky.slurm.net/image-releases: none=26.05}}
spec:
  slurmKeyRef: {name: keys, key: slurm.key}
  jwtKeyRef: {name: keys, key: jwt.key}
  accountingRef: {name: c%[1]d}
  persistence: {enabled: false}
  slurmctld: {image: none}
---
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: c%[1]d, namespace: bench, annotations: {slinky.slurm.net/image-releases: none=26.05}}
spec:
  controllerRef: {name: c%[1]d}
  slurmrestd: {image: none}
---
apiVersion: slinky.slurm.net/v1beta1
kind: LoginSet
metadata: {name: c%[1]d, namespace: bench, annotations: {slinky.slurm.net/image-releases: none=26.05}}
spec:
  controllerRef: {name: c%[1]d}
  sssdConfRef: {name: keys, key: sssd.conf}
  login: {image: none}
`
