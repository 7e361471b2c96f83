package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const (
	// workerCount is how many are started and ended.
	workerCount = 1000
	// operatorRuns is how often, a Deployment and a NodeSet by turns.
	operatorRuns = 3
	// extraNodeSets is how many NodeSets are added before requests are counted again.
	extraNodeSets = 49
	// listPeriods is for how many periods requests are counted.
	listPeriods = 3
)

// settleTime is long enough for the operator to write the results of a poll of Slurm.
const settleTime = 2 * slurmclient.DefaultPeriod

// benchOperator scales a NodeSet and a Deployment from zero to 1,000 pods and back on the same fake kubelets. It counts
// the operator's requests to Kubernetes and Slurm.
func benchOperator(ctx context.Context) ([]figure, error) {
	if missing := realkube.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	s, err := newOperatorEnv(ctx)
	if err != nil {
		return nil, err
	}
	figures, err := s.measure(ctx)
	if err != nil {
		err = fmt.Errorf("%w\nslurm-operator: %s", err, s.operatorLog())
	}
	return figures, errors.Join(err, s.close())
}

func (s *operatorEnv) measure(ctx context.Context) ([]figure, error) {
	one, err := s.listsPerPeriod(ctx)
	if err != nil {
		return nil, err
	}
	var runs []operatorRun
	for i := range operatorRuns {
		r, err := s.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i+1, err)
		}
		fmt.Fprintf(os.Stderr, "run %d: %s\n", i+1, r)
		runs = append(runs, r)
	}
	peak, err := processStatus(s.operator.Process.Pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	times, err := s.reconcileTimes(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.addNodeSets(ctx, extraNodeSets); err != nil {
		return nil, err
	}
	many, err := s.listsPerPeriod(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Concat(operatorFigures(runs), []figure{
		{"operator_reconciles", times.count(), "reconciles", ""},
		{"operator_reconcile_p50", times.quantile(0.5) * 1e3, "ms", ""},
		{"operator_reconcile_p99", times.quantile(0.99) * 1e3, "ms", ""},
		{"operator_rss_peak", peak, "MiB", ""},
		{"operator_node_lists_per_period_1_nodeset", one.nodes, "requests", "1"},
		{"operator_node_lists_per_period_50_nodesets", many.nodes, "requests", "1"},
		{"operator_job_lists_per_period_1_nodeset", one.jobs, "requests", "1"},
		{"operator_job_lists_per_period_50_nodesets", many.jobs, "requests", "1"},
	}), nil
}

// operatorRun is one turn of both.
type operatorRun struct {
	// How long it took, in seconds. The NodeSet is up when its workers are Ready and
	// their Slurm nodes idle; it is down when the pods are gone, and tidy when every record
	// is FUTURE again.
	// served is a Deployment behind a headless Service, as workers are.
	deploymentUp, deploymentDown, servedUp, up, down, recordsFuture float64
	// The operator's writes to Kubernetes and requests to slurmrestd, until all of them had settled; cpu is its processor
	// time on the way up.
	writesUp, writesDown writeCounts
	slurmUp, slurmDown   int
	cpuUp, cpuDown       float64
	// The processor time by program on the way up, for the log.
	deploymentUsed, used cpuUsage
}

func (r operatorRun) String() string {
	return fmt.Sprintf("deployment up %.1f s, down %.1f s, with a service up %.1f s; nodeset up %.1f s (%.1f s of processor), down %.1f s (%.1f s), tidy after %.1f s\n"+
		"  writes up: %s\n  writes down: %s\n  other requests to slurmrestd: up %d, down %d\n  processor for deployment up: %s\n  processor for nodeset up: %s",
		r.deploymentUp, r.deploymentDown, r.servedUp, r.up, r.cpuUp, r.down, r.cpuDown, r.recordsFuture, r.writesUp,
		r.writesDown, r.slurmUp, r.slurmDown, r.deploymentUsed, r.used)
}

// run scales the Deployments up and down, then the NodeSet.
func (s *operatorEnv) run(ctx context.Context) (r operatorRun, err error) {
	before, err := s.readUsage(ctx)
	if err != nil {
		return r, err
	}
	if r.deploymentUp, r.deploymentDown, err = s.runDeployment(ctx, "deployment", func() (err error) {
		r.deploymentUsed, err = s.usedSince(ctx, before)
		return err
	}); err != nil {
		return r, err
	}
	if r.servedUp, _, err = s.runDeployment(ctx, "deployment-served", func() error { return nil }); err != nil {
		return r, err
	}
	if err := s.runUp(ctx, &r); err != nil {
		return r, fmt.Errorf("nodeset up: %w", err)
	}
	if err := s.runDown(ctx, &r); err != nil {
		return r, fmt.Errorf("nodeset down: %w", err)
	}
	return r, nil
}

// runDeployment scales one up, calls between, and scales it down.
func (s *operatorEnv) runDeployment(ctx context.Context, name string, between func() error) (
	up, down float64, err error) {
	ready := func(ctx context.Context) (string, error) { return s.missingDeploymentPods(ctx, name) }
	if up, err = s.timeUntilNoneMissing(ctx, func() error { return s.scale(ctx, name, workerCount) },
		ready); err != nil {
		return up, down, fmt.Errorf("%s up: %w", name, err)
	}
	if err := between(); err != nil {
		return up, down, err
	}
	if down, err = s.timeUntilNoneMissing(ctx, func() error { return s.scale(ctx, name, 0) },
		s.remainingPods); err != nil {
		return up, down, fmt.Errorf("%s down: %w", name, err)
	}
	return up, down, nil
}

func (s *operatorEnv) runUp(ctx context.Context, r *operatorRun) (err error) {
	s.audit.reset()
	s.slurm.ResetRequests()
	before, err := s.readUsage(ctx)
	if err != nil {
		return err
	}
	if r.up, err = s.timeUntilNoneMissing(ctx, func() error { return s.scale(ctx, "nodeset", workerCount) },
		s.missingWorkers); err != nil {
		return err
	}
	if r.used, err = s.usedSince(ctx, before); err != nil {
		return err
	}
	r.cpuUp = r.used["slurm-operator"]
	if err := sleep(ctx, settleTime); err != nil {
		return err
	}
	r.slurmUp = otherRequests(s.slurm)
	r.writesUp, err = s.audit.read()
	return err
}

func (s *operatorEnv) runDown(ctx context.Context, r *operatorRun) (err error) {
	s.slurm.ResetRequests()
	begin, cpu := time.Now(), cpuOf(s.operator.Process.Pid)
	if r.down, err = s.timeUntilNoneMissing(ctx, func() error { return s.scale(ctx, "nodeset", 0) },
		s.remainingPods); err != nil {
		return err
	}
	r.cpuDown = cpuOf(s.operator.Process.Pid) - cpu
	if _, err = s.timeUntilNoneMissing(ctx, func() error { return nil }, s.missingWorkerRecords); err != nil {
		return err
	}
	r.recordsFuture = time.Since(begin).Seconds()
	if err := sleep(ctx, settleTime); err != nil {
		return err
	}
	r.slurmDown = otherRequests(s.slurm)
	r.writesDown, err = s.audit.read()
	return err
}

// operatorFigures returns the medians, with the spread of the figures that have a goal.
func operatorFigures(runs []operatorRun) []figure {
	all := func(value func(r operatorRun) float64) []float64 {
		var out []float64
		for _, r := range runs {
			out = append(out, value(r))
		}
		slices.Sort(out)
		return out
	}
	mid := func(name, unit, aim string, value func(r operatorRun) float64) figure {
		return figure{name, median(all(value)), unit, aim}
	}
	ratios := all(func(r operatorRun) float64 { return r.up / r.deploymentUp })
	perWorker := func(w writeCounts, match func(what string) bool) float64 {
		return float64(w.count(match)) / workerCount
	}
	is := func(names ...string) func(string) bool {
		return func(what string) bool { return slices.Contains(names, what) }
	}
	return []figure{
		{"operator_workers", workerCount, "workers", ""}, {"operator_runs", float64(len(runs)), "runs", ""},
		mid("operator_writes_per_worker_up", "writes", "at most 4",
			func(r operatorRun) float64 { return perWorker(r.writesUp, matchAny) }),
		mid("operator_writes_per_worker_up_pods", "writes", "",
			func(r operatorRun) float64 { return perWorker(r.writesUp, is("pods")) }),
		mid("operator_writes_per_worker_up_pod_status", "writes", "",
			func(r operatorRun) float64 { return perWorker(r.writesUp, is("pods/status")) }),
		mid("operator_writes_per_worker_up_nodeset_status", "writes", "",
			func(r operatorRun) float64 { return perWorker(r.writesUp, is("nodesets/status")) }),
		mid("operator_writes_per_worker_up_events", "writes", "",
			func(r operatorRun) float64 { return perWorker(r.writesUp, is("events")) }),
		mid("operator_writes_per_worker_down", "writes", "",
			func(r operatorRun) float64 { return perWorker(r.writesDown, matchAny) }),
		mid("operator_slurm_requests_per_worker_up", "requests", "",
			func(r operatorRun) float64 { return float64(r.slurmUp) / workerCount }),
		mid("operator_slurm_requests_per_worker_down", "requests", "",
			func(r operatorRun) float64 { return float64(r.slurmDown) / workerCount }),
		{"operator_time_over_deployment", median(ratios), "ratio", "at most 1.5"},
		{"operator_time_over_deployment_least", ratios[0], "ratio", ""},
		{"operator_time_over_deployment_most", ratios[len(ratios)-1], "ratio", ""},
		mid("operator_time_over_deployment_with_service", "ratio", "",
			func(r operatorRun) float64 { return r.up / r.servedUp }),
		mid("operator_up", "s", "", func(r operatorRun) float64 { return r.up }),
		mid("operator_deployment_up", "s", "", func(r operatorRun) float64 { return r.deploymentUp }),
		mid("operator_deployment_with_service_up", "s", "", func(r operatorRun) float64 { return r.servedUp }),
		mid("operator_down", "s", "", func(r operatorRun) float64 { return r.down }),
		mid("operator_deployment_down", "s", "", func(r operatorRun) float64 { return r.deploymentDown }),
		mid("operator_records_future", "s", "", func(r operatorRun) float64 { return r.recordsFuture }),
		mid("operator_cpu_up", "s", "", func(r operatorRun) float64 { return r.cpuUp }),
		mid("operator_cpu_down", "s", "", func(r operatorRun) float64 { return r.cpuDown }),
	}
}

func matchAny(string) bool { return true }
