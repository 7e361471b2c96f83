package local

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// observeTimeout is the time limit of one observation.
const observeTimeout = 5 * time.Second

type podList struct {
	Items []pod
}

// pod contains the fields of a pod that the demo reads.
type pod struct {
	Metadata struct {
		Name, DeletionTimestamp string
		Labels                  map[string]string
	}
	Status struct {
		Conditions []struct{ Type, Status string }
	}
}

func (p pod) playPod() play.Pod {
	out := play.Pod{Terminating: p.Metadata.DeletionTimestamp != ""}
	for _, c := range p.Status.Conditions {
		out.Ready = out.Ready || c.Type == "Ready" && c.Status == "True"
	}
	return out
}

// readings are all results of one observation. Each failed read has an error.
type readings struct {
	pods                            podList
	nodeSets                        v1beta1.NodeSetList
	nodes                           slurmclient.List[*slurm.Node]
	jobs                            slurmclient.List[*slurm.Job]
	required, unsatisfiable         []timeline.Reading
	podsErr, nodesErr, jobsErr      error
	nodeSetsErr                     error
	requiredErrs, unsatisfiableErrs []error
}

// Observe reads pods, NodeSets, metrics, Slurm nodes and jobs concurrently.
func (l *Demo) Observe(ctx context.Context) (play.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	g := readings{
		required: make([]timeline.Reading, len(l.sets)), unsatisfiable: make([]timeline.Reading, len(l.sets)),
		requiredErrs: make([]error, len(l.sets)), unsatisfiableErrs: make([]error, len(l.sets)),
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		g.podsErr = l.kube.get(ctx,
			"/api/v1/namespaces/"+namespace+"/pods?labelSelector=app.kubernetes.io%2Fname%3Dslurmd", &g.pods)
	})
	wg.Go(func() {
		g.nodeSetsErr = l.kube.get(ctx, slinkyPath("nodesets"), &g.nodeSets)
	})
	wg.Go(func() { g.nodes, g.nodesErr = l.slurm.Nodes(ctx, 0) })
	wg.Go(func() { g.jobs, g.jobsErr = l.slurm.Jobs(ctx, 0) })
	for i, set := range l.sets {
		wg.Go(func() {
			g.required[i], g.requiredErrs[i] = l.metricReading(ctx, set.object(), metricRequired)
		})
		wg.Go(func() {
			g.unsatisfiable[i], g.unsatisfiableErrs[i] = l.metricReading(ctx, set.object(), metricUnsatisfiable)
		})
	}
	wg.Wait()
	return g.observation(l.sets), errors.Join(slices.Concat(
		[]error{g.podsErr, g.nodeSetsErr, g.nodesErr, g.jobsErr}, g.requiredErrs, g.unsatisfiableErrs)...)
}

func (l *Demo) metricReading(ctx context.Context, set, metric string) (timeline.Reading, error) {
	n, err := l.metricValue(ctx, set, metric)
	return timeline.Reading{Value: n, Known: err == nil}, err
}

// observation combines the readings.
func (g *readings) observation(sets []NodeSet) play.Observation {
	observed := play.Observation{Jobs: g.jobs.Items, JobsKnown: g.jobsErr == nil,
		Unsatisfiable: sumReadings(g.unsatisfiable)}
	for i, set := range sets {
		observed.Sample.Sets = append(observed.Sample.Sets, timeline.Set{
			Name: set.Name, Max: set.Max, Required: g.required[i], Desired: g.desired(set),
			Known: g.podsErr == nil && g.nodesErr == nil, Workers: g.workers(set),
		})
	}
	return observed
}

// sumReadings is known only if every reading is known.
func sumReadings(of []timeline.Reading) timeline.Reading {
	total := timeline.Known(0)
	for _, r := range of {
		total = timeline.Reading{Value: total.Value + r.Value, Known: total.Known && r.Known}
	}
	return total
}

func (g *readings) desired(set NodeSet) timeline.Reading {
	for i := range g.nodeSets.Items {
		if n := &g.nodeSets.Items[i]; n.Name == set.object() && g.nodeSetsErr == nil {
			return timeline.Known(int(scaling.SpecReplicas(n)))
		}
	}
	return timeline.Reading{}
}

// workers returns the workers by the names of their Slurm nodes.
func (g *readings) workers(set NodeSet) []timeline.Worker {
	if g.podsErr != nil || g.nodesErr != nil {
		return nil
	}
	var workers []timeline.Worker
	for _, p := range g.pods.Items {
		if p.Metadata.Labels[v1beta1.LabelAppInstance] != set.object() {
			continue
		}
		name := p.Metadata.Labels[v1beta1.LabelPodHostname]
		workers = append(workers, timeline.Worker{Name: name, State: play.WorkerState(p.playPod(), g.slurmNode(name))})
	}
	slices.SortFunc(workers, func(a, b timeline.Worker) int { return timeline.CompareNumbered(a.Name, b.Name) })
	return workers
}

// slurmNode returns the Slurm node of a worker, or nil if Slurm has none.
func (g *readings) slurmNode(name string) *slurm.Node {
	for _, n := range g.nodes.Items {
		if n.Name == name {
			return n
		}
	}
	return nil
}
