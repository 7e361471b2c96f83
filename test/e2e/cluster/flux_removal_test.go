//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// fluxRelease contains the fields of a HelmRelease that the test reads.
type fluxRelease struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		URL                          string // of a source
		ChartRef                     struct{ Name string }
		ReleaseName, TargetNamespace string
		Values                       json.RawMessage
	}
}

// TestFluxRemoval installs the releases of slurm-flux, and removes all of them at once while a job runs, as Flux does
// when their HelmReleases are deleted. Flux itself cannot run here: the test calls Helm as helm-controller would, and
// again after a failure. The Jobs in the releases run in pods and keep the order. It runs with -long.
func TestFluxRemoval(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	if !*long {
		t.Skip("it runs only with -long")
	}
	e := &env{T: t, kube: startBareKube(t), namespace: "hpc", ctld: "slurm-controller-0"}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs())
		}
	})
	begin := time.Now()
	releases, chartOf := e.renderFlux()
	for _, r := range releases {
		e.installFlux(r, chartOf[r.Spec.ChartRef.Name])
	}
	e.kubectl("wait", "controllers.slinky.slurm.net/slurm", "--for=condition=Ready", "--timeout=300s")
	e.await("idle", "sinfo", "-h", "-o", "%t")
	t.Logf("from helm template to a worker: %.1f s", time.Since(begin).Seconds())
	// As docs/upgrade.md says, while the operator runs.
	_, err := e.kube.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "--filename",
		filepath.Join(charts, "slurm-operator-crds", "templates"))
	must(t, err)
	job := e.submit("--no-requeue", "--wrap", "sleep 45")
	e.awaitState(job, "RUNNING")
	e.removeFlux(releases, job)
	left, err := e.kube.Kubectl(t.Context(), "get", "nodesets,controllers.slinky.slurm.net,jobs,deployments", "--all-namespaces",
		"-o", "name")
	must(t, err)
	if left != "" {
		t.Errorf("left after all releases are removed: %s", left)
	}
}

// renderFlux returns the releases of slurm-flux, each after those that it needs, and the charts of their sources.
func (e *env) renderFlux() (releases []fluxRelease, chartOf map[string]string) {
	e.Helper()
	text, err := e.kube.Helm(e.Context(), "template", "flux", filepath.Join(charts, "slurm-flux"), "--namespace", "flux-system",
		"--values", e.writeFluxValues())
	must(e.T, err)
	byName := map[string]fluxRelease{}
	chartOf = map[string]string{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var r fluxRelease
		must(e.T, yaml.Unmarshal([]byte(document), &r))
		if r.Kind == "OCIRepository" {
			chartOf[r.Metadata.Name] = path.Base(r.Spec.URL)
		}
		byName[r.Kind+"/"+r.Metadata.Name] = r
	}
	for _, name := range []string{"crds", "operator", "metrics", "cluster-hpc"} {
		releases = append(releases, byName["HelmRelease/flux-"+name])
	}
	return releases, chartOf
}

// writeFluxValues writes values of slurm-flux for the images of the node, which the values of slurm-stack have.
func (e *env) writeFluxValues() string {
	e.Helper()
	text, err := os.ReadFile(nodeValues)
	must(e.T, err)
	var stack map[string]map[string]any
	must(e.T, yaml.Unmarshal(text, &stack))
	stack["slurm"]["nodesets"] = map[string]any{"cpu": map[string]any{"replicas": 1,
		"partition": map[string]any{"enabled": true, "configMap": map[string]any{"Default": "YES"}}}}
	values, err := json.Marshal(map[string]any{
		"operator": map[string]any{"values": stack["slurm-operator"]},
		"metrics":  map[string]any{"values": stack["slurm-metrics"]},
		"clusters": map[string]any{"hpc": map[string]any{"releaseName": "slurm", "values": stack["slurm"]}}})
	must(e.T, err)
	return e.writeFile("flux-values.json", values)
}

func (e *env) writeFile(name string, text []byte) string {
	e.Helper()
	file := filepath.Join(e.TempDir(), name)
	must(e.T, os.WriteFile(file, text, 0o600))
	return file
}

// installFlux installs a release.
func (e *env) installFlux(r fluxRelease, chart string) {
	e.Helper()
	args := []string{"install", r.Spec.ReleaseName, filepath.Join(charts, chart), "--namespace", r.Spec.TargetNamespace,
		"--create-namespace", "--wait", "--timeout", "3m"}
	if len(r.Spec.Values) > 0 {
		args = append(args, "--values", e.writeFile("values.json", r.Spec.Values))
	}
	_, err := e.kube.Helm(e.Context(), args...)
	must(e.T, err)
}

// removeFlux removes all releases at once, and retries the ones that could not be removed. The cluster waits for the
// job. The operator waits for the NodeSets and the Controller, which have finalizers.
func (e *env) removeFlux(releases []fluxRelease, job string) {
	e.Helper()
	var wg sync.WaitGroup
	var refused atomic.Int32
	removed := map[string]*atomic.Int64{}
	begin := time.Now()
	for _, r := range releases {
		at := &atomic.Int64{}
		removed[r.Metadata.Name] = at
		wg.Go(func() {
			err := process.Retry(e.Context(), 6*time.Minute, func(ctx context.Context) error {
				_, err := e.kube.Helm(ctx, "uninstall", r.Spec.ReleaseName, "--namespace", r.Spec.TargetNamespace, "--wait",
					"--timeout", "5m")
				if err != nil && r.Metadata.Name == "flux-operator" {
					refused.Add(1)
				}
				return err
			})
			if err != nil {
				e.Errorf("removing %s: %v", r.Metadata.Name, err)
			}
			at.Store(int64(time.Since(begin)))
			if r.Metadata.Name == "flux-operator" {
				left, err := e.kube.Kubectl(e.Context(), "get", "nodesets,controllers.slinky.slurm.net", "--all-namespaces", "-o", "name")
				if err != nil || left != "" {
					e.Errorf("the operator was removed before %q: %v", left, err)
				}
			}
		})
	}
	process.Await(e.T, func() error {
		log, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "logs", "job/slurm-removal")
		if err == nil && !strings.Contains(log, "cpu") {
			err = fmt.Errorf("the log of the Job does not say what it waits for: %q", log)
		}
		return err
	})
	process.Await(e.T, func() error {
		if refused.Load() == 0 {
			return fmt.Errorf("the removal of the operator has not been refused")
		}
		return nil
	})
	e.await("JobState=RUNNING", "scontrol", "show", "job", job)
	e.awaitState(job, "COMPLETED")
	wg.Wait()
	cluster, operator := removed["flux-cluster-hpc"].Load(), removed["flux-operator"].Load()
	e.Logf("removed all at once, with a job of 45 s: the cluster after %.1f s, the operator after %.1f s and %d refusals",
		time.Duration(cluster).Seconds(), time.Duration(operator).Seconds(), refused.Load())
}
