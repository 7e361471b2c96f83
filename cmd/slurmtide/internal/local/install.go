package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// readyTimeout is how long the release may take until it accepts jobs.
const readyTimeout = 5 * time.Minute

// installStack installs the chart slurm-stack, or upgrades the release.
func (l *Demo) installStack(ctx context.Context, _ func(steps.Progress)) error {
	_, err := l.runCommand(ctx, l.clusterTool(ctx, "helm", l.stackArgs()...), nil)
	return err
}

// stackArgs returns the arguments of helm.
func (l *Demo) stackArgs() []string {
	args := []string{"upgrade", "--install", release, filepath.Join(l.repo, "charts", "slurm-stack"),
		"--create-namespace", "--values", filepath.Join(l.repo, "hack", "images", "stack.values.yaml"),
		"--values", filepath.Join(l.repo, "hack", "demo", "values.yaml")}
	for _, set := range l.sets {
		args = append(args, "--set", fmt.Sprintf("slurm.nodesets.%s.autoscaling.maxReplicas=%d", set.Name, set.Max))
	}
	return args
}

// awaited is a condition that all objects of a resource must have before jobs are submitted.
type awaited struct{ resource, condition string }

// awaitedConditions returns what the release consists of. A NodeSet is Submittable when Slurm accepts jobs for workers
// that do not exist yet.
func awaitedConditions() []awaited {
	return []awaited{{"controllers", "Ready"}, {"accountings", "Ready"}, {"restapis", "Ready"}, {"loginsets", "Ready"},
		{"nodesets", "Submittable"}}
}

// objectList contains the fields of custom resources that the demo waits for.
type objectList struct {
	Items []struct {
		Metadata struct{ Name string }
		Status   struct {
			Conditions []struct{ Type, Status, Reason string }
		}
	}
}

// unmet describes the objects without the condition. A list without objects is one of them.
func (list objectList) unmet(a awaited) []string {
	if len(list.Items) == 0 {
		return []string{a.resource}
	}
	var out []string
	for _, object := range list.Items {
		met, why := false, ""
		for _, c := range object.Status.Conditions {
			if c.Type == a.condition {
				met, why = c.Status == "True", c.Reason
			}
		}
		if !met {
			out = append(out, strings.TrimSpace(a.resource+"/"+object.Metadata.Name+" "+why))
		}
	}
	return out
}

// awaitStack waits until the release accepts jobs and the metrics of the HPAs are served.
func (l *Demo) awaitStack(ctx context.Context, report func(steps.Progress)) error {
	limit, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not within %v", readyTimeout))
	defer cancel()
	all := 0
	err := retryUntilDone(limit, func() error {
		missing := l.missingParts(limit)
		if len(missing) == 0 {
			return nil
		}
		all = max(all, len(missing))
		text := "waiting for " + strings.Join(missing, ", ")
		report(steps.Progress{Done: all - len(missing), Total: all, Text: text})
		return errors.New(text)
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return l.withPodStatus(err)
}

// missingParts describes the parts that are not ready yet.
func (l *Demo) missingParts(ctx context.Context) []string {
	conditions := awaitedConditions()
	missing := make([][]string, len(conditions)+len(l.sets))
	var wg sync.WaitGroup
	for i, a := range conditions {
		wg.Go(func() {
			var list objectList
			if err := l.kube.get(ctx, slinkyPath(a.resource), &list); err != nil {
				missing[i] = []string{fmt.Sprintf("%s (%v)", a.resource, err)}
				return
			}
			missing[i] = list.unmet(a)
		})
	}
	for i, set := range l.sets {
		wg.Go(func() {
			if _, err := l.metricValue(ctx, set.object(), metricRequired); err != nil {
				missing[len(conditions)+i] = []string{"the metrics of " + set.object()}
			}
		})
	}
	wg.Wait()
	return slices.Concat(missing...)
}

// withPodStatus adds the status of the pods to an error.
func (l *Demo) withPodStatus(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
	defer cancel()
	pods, _ := l.kubectl(ctx, "get", "pods")
	return fmt.Errorf("%w\n%s\nsource %s; kubectl logs POD shows more", err, pods, l.EnvFile())
}
