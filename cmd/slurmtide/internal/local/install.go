package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// manifestValues are the values of the manifest templates. The keys are base64.
type manifestValues struct {
	Namespace, Version string
	SlurmKey, JWTKey   string
	Sets               []NodeSet
}

func (s manifestValues) render(name string) (string, error) {
	t, err := template.ParseFS(manifests, "manifests/"+name)
	if err != nil {
		return "", fmt.Errorf("reading the manifest: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, s); err != nil {
		return "", fmt.Errorf("rendering the manifest: %w", err)
	}
	return out.String(), nil
}

func (l *Demo) applyManifest(ctx context.Context, manifest string, s manifestValues) error {
	s.Namespace, s.Version, s.Sets = namespace, SlurmVersion, l.sets
	text, err := s.render(manifest)
	if err != nil {
		return err
	}
	return l.apply(ctx, text)
}

func (l *Demo) installCRDs(ctx context.Context, _ func(steps.Progress)) error {
	if err := l.apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"); err != nil {
		return err
	}
	if err := l.upgradeChart(ctx, "slurm-operator-crds"); err != nil {
		return err
	}
	_, err := l.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s",
		"crd/nodesets.slinky.slurm.net", "crd/clusters.slinky.slurm.net", "crd/tokens.slinky.slurm.net")
	return err
}

func (l *Demo) upgradeChart(ctx context.Context, chart string, more ...string) error {
	args := append([]string{"upgrade", "--install", chart, l.chartDir(chart), "--namespace", namespace}, more...)
	_, err := l.runCommand(ctx, l.clusterTool(ctx, "helm", args...), nil)
	return err
}

// startSlurm starts Slurm with the keys in the cluster, or with new keys.
func (l *Demo) startSlurm(ctx context.Context, report func(steps.Progress)) error {
	keys, err := l.readOrCreateKeys(ctx)
	if err != nil {
		return err
	}
	if err := l.applyManifest(ctx, "slurm.yaml", keys); err != nil {
		return err
	}
	for _, what := range []string{"statefulset/slurmctld", "deployment/slurmrestd"} {
		report(steps.Progress{Text: "waiting for " + what})
		if _, err := l.kubectl(ctx, "rollout", "status", what, "--timeout=120s"); err != nil {
			return err
		}
	}
	return l.connectSlurm(ctx, keys)
}

// readOrCreateKeys returns the keys in the cluster, or new keys if the Secret does not exist.
func (l *Demo) readOrCreateKeys(ctx context.Context) (manifestValues, error) {
	var secret struct{ Data map[string]string }
	err := l.kube.get(ctx, "/api/v1/namespaces/"+namespace+"/secrets/slurm-keys", &secret)
	if err == nil {
		return manifestValues{SlurmKey: secret.Data["slurm.key"], JWTKey: secret.Data["jwt_hs256.key"]}, nil
	}
	if !errors.Is(err, errNotFound) {
		return manifestValues{}, err
	}
	var s manifestValues
	for _, key := range []*string{&s.SlurmKey, &s.JWTKey} {
		raw := make([]byte, 64)
		if _, err := rand.Read(raw); err != nil {
			return s, fmt.Errorf("generating a key: %w", err)
		}
		*key = base64.StdEncoding.EncodeToString(raw)
	}
	return s, nil
}

// installCharts installs the operator and the adapter in parallel. Both poll Slurm every second.
func (l *Demo) installCharts(ctx context.Context, _ func(steps.Progress)) error {
	install := func(ctx context.Context, chart, program, values string) error {
		return l.upgradeChart(ctx, chart, "--wait", "--timeout", "5m", "--set",
			"image.repository=localhost/"+program+",image.tag=dev,image.pullPolicy=Never,slurm.pollInterval=1s,"+values)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return install(ctx, "slurm-operator", "slurm-operator",
			"slurm.user=root,nodeSet.registerWithin=1m,wakeup.lookInterval=1s")
	})
	group.Go(func() error {
		return install(ctx, "slurm-metrics", "slurm-metrics-adapter", "slurm.jwtUser=root,replicaCount=1")
	})
	if err := group.Wait(); err != nil {
		return l.withPodStatus(err)
	}
	return nil
}

// withPodStatus adds the status of the pods to an error.
func (l *Demo) withPodStatus(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
	defer cancel()
	pods, _ := l.kubectl(ctx, "get", "pods")
	return fmt.Errorf("%w\n%s\nsource %s; kubectl -n %s logs POD shows more", err, pods, l.EnvFile(), namespace)
}

// createNodeSets creates the NodeSets. It waits until Slurm accepts jobs for workers that do not
// exist yet and until the metrics of the HPAs are served.
func (l *Demo) createNodeSets(ctx context.Context, report func(steps.Progress)) error {
	if err := l.applyManifest(ctx, "cluster.yaml", manifestValues{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not within two minutes"))
	defer cancel()
	for _, set := range l.sets {
		report(steps.Progress{Text: "waiting until Slurm accepts jobs for " + set.Name})
		if _, err := l.kubectl(ctx, "wait", "nodeset/"+set.Name, "--for=condition=Submittable",
			"--timeout=120s"); err != nil {
			return err
		}
	}
	report(steps.Progress{Text: "waiting until the metrics are served"})
	return retryUntilDone(ctx, func() (err error) {
		for _, set := range l.sets {
			_, metricErr := l.metricValue(ctx, set.Name, "slurm_nodeset_required_nodes")
			err = errors.Join(err, metricErr)
		}
		return err
	})
}
