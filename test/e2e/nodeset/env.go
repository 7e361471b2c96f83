package nodeset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// Env is a Kubernetes cluster with one node and with Slurm, the operator and the adapter. Helm
// installed the latter two.
type Env struct {
	Kube   *realkube.Cluster
	Values ManifestValues
	// Logf logs each step and its duration.
	Logf func(format string, args ...any)
	// slurmctldPID is the process in whose namespaces Slurm's commands run. With 0, kubectl exec runs them.
	slurmctldPID int
}

// Start starts everything, and returns when Slurm answers and the operator is Ready. Everything that it started ends
// with Close, or with this process.
func Start(ctx context.Context, version string, controller bool, say func(format string, args ...any)) (*Env, error) {
	site, err := newManifestValues(version, controller)
	if err != nil {
		return nil, err
	}
	s := &Env{Values: site, Logf: say}
	err = s.logDuration("Kubernetes with a node", func() error {
		s.Kube, err = realkube.Start(ctx, realkube.Config{
			Kubelet: true, Name: "nodeset",
			ControllerManagerArgs: []string{"--horizontal-pod-autoscaler-sync-period=1s"},
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"images", s.loadImages}, {"CRDs", s.installCRDs}, {"slurmctld and slurmrestd", s.startFirstSlurm},
		{"operator and adapter", s.installCharts}, {"the Slurm cluster's object", s.applyClusterObject},
	}
	for _, step := range steps {
		if err := s.logDuration(step.name, func() error { return step.do(ctx) }); err != nil {
			return nil, errors.Join(err, errors.New(s.Logs()), s.Kube.Close())
		}
	}
	return s, nil
}

func (s *Env) logDuration(name string, do func() error) error {
	begin := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.Logf("%-28s %6.1f s", name, time.Since(begin).Seconds())
	return nil
}

// Close stops everything.
func (s *Env) Close() error { return s.Kube.Close() }

func (s *Env) loadImages(ctx context.Context) error {
	return s.Kube.LoadImages(ctx, "slurm-operator", "slurm-metrics-adapter", "slurmd:"+s.Values.Version)
}

func (s *Env) installCRDs(ctx context.Context) error {
	dir, err := process.FindModuleRoot()
	if err != nil {
		return err
	}
	for _, namespace := range []string{s.Values.Namespace, twinNamespace, steadyNamespace} {
		if _, err := s.Kube.Kubectl(ctx, "create", "namespace", namespace); err != nil {
			return err
		}
	}
	if _, err := s.Kube.Helm(ctx, "install", "crds", filepath.Join(dir, "charts/slurm-operator-crds"), "--namespace",
		s.Values.Namespace); err != nil {
		return err
	}
	return s.Kube.AwaitEstablished(ctx, "nodesets.slinky.slurm.net", "tokens.slinky.slurm.net")
}

func (s *Env) startFirstSlurm(ctx context.Context) error {
	return s.startSlurm(ctx, slurmCluster{Name: "e2e"})
}

// slurmCluster contains Slurm's name of a cluster, and the NodeName line of its slurm.conf, which may be empty.
type slurmCluster struct {
	Name, Nodes string
	// SlurmdTimeout is SlurmdTimeout of slurm.conf, in seconds. 0 sets a short one that detects unresponsive nodes soon.
	SlurmdTimeout int
}

// startSlurm starts slurmctld and slurmrestd, and returns when they answer.
func (s *Env) startSlurm(ctx context.Context, cluster slurmCluster) error {
	if err := s.apply(ctx, "slurm.yaml", cluster); err != nil {
		return err
	}
	for _, what := range []string{"statefulset/slurmctld", "deployment/slurmrestd"} {
		if _, err := s.kubectl(ctx, "rollout", "status", what, "--timeout=120s"); err != nil {
			return err
		}
	}
	_, err := s.Await(ctx, "slurmctld answers", process.Patience, func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "scontrol", "ping")
		return err == nil, fmt.Sprint(out, err)
	})
	return err
}

// SurplusRecordsKept is how long the operator keeps FUTURE records above a lower maximum.
const SurplusRecordsKept = 5 * time.Second

// installCharts installs the operator and the adapter, which read Slurm every second.
func (s *Env) installCharts(ctx context.Context) error {
	dir, err := process.FindModuleRoot()
	if err != nil {
		return err
	}
	image := func(name string) string {
		return "image.repository=localhost/" + name + ",image.tag=dev,image.pullPolicy=Never"
	}
	for _, chart := range []struct{ name, set string }{
		{"slurm-operator", image("slurm-operator") +
			",slurm.pollInterval=1s,slurm.user=root,rbac.cordonKubeNodes=true,rbac.execNamespaces={" +
			s.Values.Namespace + "," + steadyNamespace + "},rbac.secretNamespaces={" + s.Values.Namespace + "," +
			twinNamespace + "," + steadyNamespace + "},nodeSet.registerWithin=1m,extraArgs={--nodeset.keep-surplus-records=" +
			SurplusRecordsKept.String() + "}"},
		{"slurm-metrics", image("slurm-metrics-adapter") + ",slurm.pollInterval=1s,slurm.jwtUser=root,replicaCount=1"},
	} {
		if _, err := s.Kube.Helm(ctx, "install", chart.name, filepath.Join(dir, "charts", chart.name),
			"--namespace", s.Values.Namespace, "--set", chart.set, "--wait", "--timeout", "3m"); err != nil {
			return err
		}
	}
	return nil
}

// applyClusterObject applies the object that stands for the Slurm cluster. It waits until a Cluster
// is Ready; a Controller does not report that.
func (s *Env) applyClusterObject(ctx context.Context) error {
	if err := s.apply(ctx, "cluster.yaml", nil); err != nil || s.Values.Controller {
		return err
	}
	_, err := s.kubectl(ctx, "wait", "cluster/e2e", "--for=condition=Ready", "--timeout=60s")
	return err
}

// Volumes creates count volumes of storage class "e2e" on the Kubernetes node.
func (s *Env) Volumes(ctx context.Context, count int) error {
	return s.apply(ctx, "volumes.yaml", make([]int, count))
}

// Apply applies a NodeSet, with its HPA if it has one.
func (s *Env) Apply(ctx context.Context, n NodeSet) error { return s.apply(ctx, "nodeset.yaml", n) }

// Autoscaler creates a HorizontalPodAutoscaler of a name for a NodeSet.
func (s *Env) Autoscaler(ctx context.Context, nodeSet, name string, most int) error {
	return s.apply(ctx, "hpa.yaml", struct {
		Target, Name string
		Max          int
	}{nodeSet, name, most})
}

func (s *Env) apply(ctx context.Context, manifest string, more any) error {
	text, err := s.Values.render(manifest, more)
	if err != nil {
		return err
	}
	return s.Kube.Apply(ctx, text)
}

func (s *Env) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.Kube.Kubectl(ctx, append([]string{"--namespace", s.Values.Namespace}, args...)...)
}

// Slurm runs a Slurm command in slurmctld's pod, as root.
func (s *Env) Slurm(ctx context.Context, args ...string) (string, error) {
	if s.slurmctldPID != 0 {
		return s.enterSlurmctld(ctx, args)
	}
	out, err := s.kubectl(ctx, append([]string{"exec", "slurmctld-0", "--"}, args...)...)
	return strings.TrimSpace(out), err
}

// Get reads an object, or a list, into a value.
func (s *Env) Get(ctx context.Context, into any, args ...string) error {
	out, err := s.kubectl(ctx, append([]string{"get", "--output", "json"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

// Logs returns the objects, logs and Slurm state that help to understand a failed test.
func (s *Env) Logs() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	for _, args := range [][]string{
		{"get", "pods,nodesets,hpa,pdb,clusters,controllers,tokens", "--output", "wide"}, {"describe", "nodesets"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "deployment/slurm-operator", "--tail=200"}, {"logs", "deployment/slurm-metrics", "--tail=50"},
		{"logs", "slurmctld-0", "--tail=100"}, {"exec", "slurmctld-0", "--", "sinfo", "-N", "-l"},
		{"exec", "slurmctld-0", "--", "squeue", "-l"},
		{"exec", "slurmctld-0", "--", "scontrol", "show", "nodes", "--future"},
		{"exec", "slurmctld-0", "--", "grep", "-r", "", "/out"},
	} {
		text, err := s.kubectl(ctx, args...)
		fmt.Fprintf(&out, "==> kubectl %s <==\n%s\n", strings.Join(args, " "), text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	if os.Getenv("SLURMTIDE_KUBE_LOGS") != "" {
		out.WriteString(s.Kube.Logs())
	}
	return out.String()
}
