package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const (
	hpaCount = 500
	// syncRounds is how many syncs of all the HPAs are measured.
	syncRounds = 3
)

// benchAdapter sends the queries of 500 HPAs to the adapter, for a cluster of the full size.
func benchAdapter(ctx context.Context) ([]figure, error) {
	if missing := realkube.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	server, err := startServer(ctx, totalJobs, "still")
	if err != nil {
		return nil, err
	}
	defer server.stop()
	// The simulated Slurm yields to the measured programs: a real one has its own machines.
	if err := server.lowerPriority(); err != nil {
		return nil, err
	}
	control, err := loop.NewControlPlane(ctx, realkube.Config{})
	if err != nil {
		return nil, err
	}
	figures, err := askAdapter(ctx, control, server)
	return figures, errors.Join(err, control.Close())
}

func askAdapter(ctx context.Context, control *loop.ControlPlane, server *process) ([]figure, error) {
	if err := createNodeSets(ctx, control, server.url); err != nil {
		return nil, err
	}
	if err := control.StartAdapters(ctx, 1); err != nil {
		return nil, err
	}
	client, err := newMetricsClient(ctx, control)
	if err != nil {
		return nil, err
	}
	if err := client.awaitFirstAnswer(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, control.Adapters[0].Log())
	}
	begin, err := server.requests(ctx)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, syncRounds*hpaSync); err != nil {
		return nil, err
	}
	before, err := server.requests(ctx)
	if err != nil {
		return nil, err
	}
	load, err := client.measureLoad(ctx, server, control.Adapters[0].PID())
	if err != nil {
		return nil, err
	}
	peak, err := processStatus(control.Adapters[0].PID(), "VmHWM")
	if err != nil {
		return nil, err
	}
	took, floor := load.queries, load.liveness
	return []figure{
		{"adapter_cores", float64(runtime.NumCPU()), "cores, " + coresSharedBy, ""},
		{"adapter_hpas", hpaCount, "HPAs", ""}, {"adapter_queries", float64(len(took)), "queries", ""},
		{"adapter_query_p50", quantile(took, 0.5), "ms", ""},
		{"adapter_query_p99", quantile(took, 0.99), "ms", "under 5"},
		{"adapter_query_max", quantile(took, 1), "ms", ""},
		{"adapter_query_floor_p50", quantile(floor, 0.5), "ms", ""},
		{"adapter_query_floor_p99", quantile(floor, 0.99), "ms", ""},
		{"adapter_cpu_per_query", load.cpuSeconds / float64(len(took)) * 1e3, "ms", ""},
		{"adapter_rss_peak", peak, "MiB", ""},
		{"adapter_slurmrestd_requests_unasked", before - begin, "requests", ""},
		{"adapter_slurmrestd_requests_asked", load.requests, "requests", "no more"},
	}, nil
}

// queryLoad is the result of several rounds of queries.
type queryLoad struct {
	// queries are the times of HPA queries in ms, and liveness the times of empty requests to the same server. Both are
	// sorted.
	queries, liveness []float64
	// cpuSeconds is the adapter's processor time in seconds, and requests is how many requests slurmrestd received, during
	// the HPA queries.
	cpuSeconds, requests float64
}

// measureLoad alternates rounds of HPA queries and of empty requests, so that both run under the same
// conditions. An empty request costs TLS, the server's own work and the wait for a processor, also
// in the client. Polls continue meanwhile.
func (a *metricsClient) measureLoad(ctx context.Context, server *process, pid int) (l queryLoad, err error) {
	for range syncRounds {
		before, err := server.requests(ctx)
		if err != nil {
			return l, err
		}
		cpu := cpuOf(pid)
		if l.queries, err = a.queryAllHPAs(ctx, a.queryHPA, l.queries); err != nil {
			return l, err
		}
		l.cpuSeconds += cpuOf(pid) - cpu
		after, err := server.requests(ctx)
		if err != nil {
			return l, err
		}
		l.requests += after - before
		if l.liveness, err = a.queryAllHPAs(ctx, a.queryLiveness, l.liveness); err != nil {
			return l, err
		}
	}
	slices.Sort(l.queries)
	slices.Sort(l.liveness)
	return l, nil
}

// coresSharedBy names the programs that share the cores while queries are measured.
const coresSharedBy = "for the adapter, the asking client, the API server, etcd and the simulated slurmrestd (nice 19)"

// queryAllHPAs sends one query for every HPA, evenly spread over a sync, and adds the times in ms.
func (a *metricsClient) queryAllHPAs(ctx context.Context, ask func(ctx context.Context, hpa int) error,
	took []float64) ([]float64, error) {
	tick := time.NewTicker(hpaSync / hpaCount)
	defer tick.Stop()
	for i := range hpaCount {
		begin := time.Now()
		if err := ask(ctx, i); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin).Seconds()*1e3)
		<-tick.C
	}
	return took, nil
}

func createNodeSets(ctx context.Context, control *loop.ControlPlane, url string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: %[1]s, annotations: {slinky.slurm.net/slurm-token: "true"}}
stringData: {SLURM_JWT: t}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: large, namespace: %[1]s}
spec: {server: %[2]q, token: {secretRef: {name: token, key: SLURM_JWT}}}
`, loop.Namespace, url)
	for i := range hpaCount {
		fmt.Fprintf(&b, `---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: %s, namespace: %s}
spec: {clusterRef: {name: large}, replicas: 0, maxReplicas: 50, slurmd: {image: none}, template: {}}
`, nodeSetName(i), loop.Namespace)
	}
	return control.Kube.Apply(ctx, b.String())
}

func nodeSetName(i int) string { return fmt.Sprintf("set%03d", i) }

// metricsClient queries the adapter as the API server does, with the rights to read metrics.
type metricsClient struct {
	http  *http.Client
	url   string
	token string
}

func newMetricsClient(ctx context.Context, control *loop.ControlPlane) (*metricsClient, error) {
	for _, args := range [][]string{
		{"create", "serviceaccount", "asker", "--namespace", loop.Namespace},
		{"create", "clusterrole", "asker", "--verb=get", "--resource=*.custom.metrics.k8s.io"},
		{"create", "clusterrolebinding", "asker", "--clusterrole=asker", "--serviceaccount=" + loop.Namespace +
			":asker"},
	} {
		if _, err := control.Kube.Kubectl(ctx, args...); err != nil {
			return nil, err
		}
	}
	token, err := control.Kube.Kubectl(ctx, "create", "token", "asker", "--namespace", loop.Namespace)
	if err != nil {
		return nil, err
	}
	return &metricsClient{
		url: fmt.Sprintf("https://127.0.0.1:%d", control.Adapters[0].Port), token: strings.TrimSpace(token),
		http: &http.Client{Transport: &http.Transport{
			ForceAttemptHTTP2: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it is our own, on loopback
		}},
	}, nil
}

// queryHPA asks what the HPA of a NodeSet asks.
func (a *metricsClient) queryHPA(ctx context.Context, i int) error {
	return a.get(ctx, fmt.Sprintf("/apis/custom.metrics.k8s.io/v1beta2/namespaces/%s/nodesets.slinky.slurm.net/%s/slurm_nodeset_required_nodes",
		loop.Namespace, nodeSetName(i)))
}

// queryLiveness asks the same server whether it lives.
func (a *metricsClient) queryLiveness(ctx context.Context, _ int) error { return a.get(ctx, "/livez") }

func (a *metricsClient) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

// awaitFirstAnswer waits until the cluster has been read.
func (a *metricsClient) awaitFirstAnswer(ctx context.Context) error {
	var err error
	for range 600 {
		if err = a.queryHPA(ctx, 0); err == nil {
			return nil
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
	return err
}

// cpuOf returns the processor time of a process in seconds, 0 if it cannot be read.
func cpuOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}
