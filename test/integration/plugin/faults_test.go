//go:build e2e

package plugin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

// servingFaults returns faults of the servers behind the aggregated APIs.
func (r *env) servingFaults() []fault {
	const view, metrics = "v1alpha1.view.slinky.slurm.net", "v1beta2.custom.metrics.k8s.io"
	return []fault{
		r.missingServiceFault("no view", view),
		r.missingServiceFault("no custom metrics", metrics),
		{"the adapter is gone", func(t *testing.T) { r.stopAdapter(t) }, "", "APIServiceUnavailable", metrics,
			func(t *testing.T, _ finding) { r.startAdapter(t) }},
		{"another adapter", func(t *testing.T) { r.serveOtherAdapter(t, metrics) }, "", "MetricsOfAnother", "gpu",
			func(t *testing.T, _ finding) {
				r.mustRun(t, "kubectl replace -f "+filepath.Join(r.dir, metrics))
			}},
		{"slurmrestd is gone", func(*testing.T) { r.restd.Stop() }, "", "StaleSnapshot", "alpha",
			func(t *testing.T, _ finding) { r.restd.Start(t) }},
	}
}

func (r *env) saveAPIService(t *testing.T, service string) {
	t.Helper()
	r.mustRun(t, fmt.Sprintf("kubectl get apiservice %s -o yaml | sed '/resourceVersion:/d; /uid:/d; /^status:/,$d' >%s", service, filepath.Join(r.dir, service)))
}

// missingServiceFault deletes an APIService. The test restores it itself, since the suggested
// cure, Helm, would point the Service at pods.
func (r *env) missingServiceFault(name, service string) fault {
	return fault{name, func(t *testing.T) {
		r.saveAPIService(t, service)
		r.kubectl(t, "delete", "apiservice", service)
		if strings.HasSuffix(service, "slinky.slurm.net") {
			r.testWithoutView(t)
		}
	}, "", "APIServiceMissing", service, func(t *testing.T, _ finding) {
		r.mustRun(t, "kubectl apply -f "+filepath.Join(r.dir, service))
		process.Await(t, func() error {
			a := r.runShell(t, "kubectl get --raw /apis/"+strings.Join(strings.SplitN(service, ".", 2)[1:], "")+"/"+
				strings.SplitN(service, ".", 2)[0])
			if a.status != 0 {
				return fmt.Errorf("%s%s", a.out, a.err)
			}
			return nil
		})
	}}
}

// testWithoutView checks what the commands print while the view API is not served.
func (r *env) testWithoutView(t *testing.T) {
	process.Await(t, func() error {
		if a := r.runShell(t, "kubectl get --raw /apis/view.slinky.slurm.net/v1alpha1"); a.status == 0 {
			return fmt.Errorf("the view is still served")
		}
		return nil
	})
	for _, name := range []string{"top partitions", "top nodes", "top jobs", "top users", "top nodesets",
		"explain nodeset gpu", "explain job 2"} {
		r.compareGolden(t, "without-view-"+strings.ReplaceAll(name, " ", "-"), "kubectl slurm "+name+" -n hpc")
	}
}

func (r *env) stopAdapter(t *testing.T) {
	t.Helper()
	if err := r.Adapters[len(r.Adapters)-1].Stop(); err != nil {
		t.Error(err)
	}
}

func (r *env) startAdapter(t *testing.T) {
	t.Helper()
	if _, err := r.StartAdapter(t.Context(), r.Adapters[0].Port, r.adapterArgs...); err != nil {
		t.Fatal(err)
	}
}

// serveOtherAdapter registers a server without any metrics for custom.metrics.k8s.io.
func (r *env) serveOtherAdapter(t *testing.T, service string) {
	t.Helper()
	r.saveAPIService(t, service)
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if q.URL.Path == "/apis/custom.metrics.k8s.io/v1beta2" || q.URL.Path == "/apis/custom.metrics.k8s.io" ||
			q.URL.Path == "/apis" {
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"custom.metrics.k8s.io/v1beta2","resources":[]}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"no such metric"}`)
	}))
	t.Cleanup(other.Close)
	var port int
	if _, err := fmt.Sscanf(strings.TrimPrefix(other.URL, "https://127.0.0.1:"), "%d", &port); err != nil {
		t.Fatal(err)
	}
	if err := r.Kube.ExposeLocal(t.Context(), "lab", "other-metrics", port); err != nil {
		t.Fatal(err)
	}
	r.kubectl(t, "patch", "apiservice", service, "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"insecureSkipTLSVerify":true,"caBundle":null,"service":{"name":"other-metrics","namespace":"lab","port":%d}}}`, port))
}

// tokenFaults returns faults of a Cluster's token Secret, which the suggested command cures.
func (r *env) tokenFaults() []fault {
	renew := func(t *testing.T, f finding) {
		r.mustRun(t, strings.Replace(f.Command, "=TOKEN", "="+restd.Token(t, 48*time.Hour), 1))
	}
	set := func(text string) func(t *testing.T) {
		return func(t *testing.T) {
			r.applyManifest(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: alpha-token, namespace: hpc}\nstringData: {SLURM_JWT: "+text+"}\n")
		}
	}
	return []fault{
		{"the token ends soon", func(t *testing.T) { r.setToken(t, hpc, "alpha-token", time.Hour) }, "",
			"TokenExpiring", "alpha", renew},
		{"the token has ended", func(t *testing.T) { r.setToken(t, hpc, "alpha-token", -time.Minute) }, "",
			"TokenExpired", "alpha", renew},
		{"no token", set("nonsense"), "", "TokenUnreadable", "alpha", renew},
		{"no key", func(t *testing.T) {
			r.kubectl(t, "-n", hpc, "patch", "secret", "alpha-token", "--type=json", "-p",
				`[{"op":"replace","path":"/data","value":{"other":"eA=="}}]`)
		}, "", "SecretMissing", "alpha", renew},
		{"no Secret", func(t *testing.T) { r.kubectl(t, "-n", hpc, "delete", "secret", "alpha-token") }, "",
			"SecretMissing", "alpha", renew},
	}
}

// objectFaults returns faults of our custom resources.
func (r *env) objectFaults() []fault {
	return []fault{
		{"no Cluster", func(t *testing.T) { r.applyFile(t, "lost.yaml") }, "", "ClusterMissing", "lost",
			func(t *testing.T, _ finding) {
				r.applyManifest(t, "apiVersion: slinky.slurm.net/v1beta1\nkind: Cluster\nmetadata: {name: nobody, namespace: hpc}\nspec: {server: 'http://127.0.0.1:1', token: {secretRef: {name: alpha-token, key: SLURM_JWT}}}\n")
			}},
		{"a Cluster that does not answer", func(*testing.T) {}, "", "ClusterNotReady", "nobody",
			func(t *testing.T, _ finding) {
				r.kubectl(t, "-n", hpc, "patch", "clusters.slinky.slurm.net", "nobody", "--type=merge", "-p",
					`{"spec":{"server":"`+r.restd.URL()+`"}}`)
			}},
		{"a Cluster without slurmctld", func(*testing.T) {}, "", "NodeSetNotReady", "lost",
			func(t *testing.T, _ finding) {
				r.kubectl(t, "-n", hpc, "patch", "clusters.slinky.slurm.net", "nobody", "--type=merge", "-p",
					`{"spec":{"slurmctld":{"host":"x"},"slurmKeyRef":{"name":"keys","key":"slurm.key"}}}`)
			}},
		{"no operator", func(t *testing.T) { r.stopOperator(t) }, "", "OperatorNotRunning", "",
			func(t *testing.T, _ finding) { r.startOperator(t) }},
		{"asleep at zero", r.sleepAtZero, "", "AsleepAtZero", "lost", func(t *testing.T, f finding) {
			r.mustRun(t, f.Command)
			r.startOperator(t)
		}},
		{"a worker that lists steps", func(t *testing.T) { r.applyManifest(t, workerThatListsSteps) }, "-n lab",
			"ProbeListsSteps", "retired", func(t *testing.T, f finding) {
				r.mustRun(t, f.Command)
				r.kubectl(t, "-n", "lab", "delete", "pod", "retired-0", "--grace-period=0", "--force")
			}},
		{"paused by hand", func(t *testing.T) { r.kubectl(t, "-n", hpc, "scale", "nodesets", "gpu", "--replicas=0") },
			"", "PausedAtZero", "gpu", nil},
	}
}

// workerThatListsSteps is a worker pod with the readiness probe of an older operator.
const workerThatListsSteps = `apiVersion: v1
kind: Pod
metadata: {name: retired-0, namespace: lab, labels: {app.kubernetes.io/name: slurmd, app.kubernetes.io/instance: retired}}
spec:
  containers: [{name: slurmd, image: slurmd, readinessProbe: {exec: {command: [scontrol, show, slurmd]}}}]
`

// sleepAtZero creates an HPA for a NodeSet at zero while no operator runs.
func (r *env) sleepAtZero(t *testing.T) {
	r.stopOperator(t)
	r.applyHPA(t, "sleeps", "lost")
}

// applyHPA applies testdata/hpa.yaml under another name, for another NodeSet.
func (r *env) applyHPA(t *testing.T, name, nodeSet string) {
	t.Helper()
	text, err := os.ReadFile("testdata/hpa.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r.applyManifest(t, strings.NewReplacer("metadata: {name: gpu", "metadata: {name: "+name, "kind: NodeSet, name: gpu",
		"kind: NodeSet, name: "+nodeSet).Replace(string(text)))
}

// autoscalerFaults returns faults of HPAs.
func (r *env) autoscalerFaults() []fault {
	patch := func(name, text string) func(*testing.T) {
		return func(t *testing.T) { r.kubectl(t, "-n", hpc, "patch", "hpa", name, "--type=json", "-p", text) }
	}
	metric := func(text string) string {
		return `[{"op":"replace","path":"/spec/metrics/0/object/metric","value":` + text + `}]`
	}
	back := func(t *testing.T, _ finding) { r.applyHPA(t, "sleeps", "lost") }
	return []fault{
		{"no tolerance", patch("sleeps",
			`[{"op":"replace","path":"/spec/maxReplicas","value":20},{"op":"remove","path":"/spec/behavior/scaleUp/tolerance"}]`), "", "ToleranceMissing", "sleeps", nil},
		{"percents alone", patch("sleeps",
			`[{"op":"replace","path":"/spec/behavior/scaleUp/policies","value":[{"type":"Percent","value":100,"periodSeconds":15}]}]`), "", "CannotLeaveZero", "sleeps", nil},
		{"a target of a value", patch("sleeps",
			`[{"op":"replace","path":"/spec/metrics/0/object/target","value":{"type":"Value","value":"1"}}]`), "",
			"ValueTarget", "sleeps", nil},
		{"a metric of another NodeSet",
			patch("sleeps", `[{"op":"replace","path":"/spec/metrics/0/object/describedObject/name","value":"gpu"}]`),
			"", "AmbiguousMetric", "sleeps", back},
		{"a metric of all partitions",
			patch("sleeps", `[{"op":"replace","path":"/spec/metrics/0/object/describedObject","value":{"apiVersion":"slinky.slurm.net/v1beta1","kind":"Cluster","name":"alpha"}},`+metric(`{"name":"slurm_partition_pending_jobs"}`)[1:]),
			"", "AmbiguousMetric", "sleeps", func(t *testing.T, _ finding) {
				patch("sleeps", metric(`{"name":"slurm_partition_pending_jobs","selector":{"matchLabels":{"partition":"gpu"}}}`))(t)
			}},
		{"a metric that is not there",
			func(t *testing.T) { back(t, finding{}); patch("sleeps", metric(`{"name":"slurm_nothing"}`))(t) }, "",
			"AutoscalerFails", "sleeps", back},
		{"two HPAs", func(t *testing.T) { r.applyHPA(t, "twin", "lost") }, "", "SeveralAutoscalers", "lost", nil},
		{"an HPA of nothing", func(t *testing.T) { r.applyHPA(t, "stray", "nothing") }, "", "TargetMissing", "stray",
			nil},
	}
}
