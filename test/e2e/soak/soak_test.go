//go:build e2e

package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

var (
	seeds     = flag.Int("seeds", 1, "number of seeds, one after the other on one cluster")
	firstSeed = flag.Uint64("seed", 1, "the first seed")
	duration  = flag.Duration("for", 3*time.Minute, "how long jobs and disturbances come, for each seed")
)

// run is the soak of one seed.
type run struct {
	*env
	dice   *rand.Rand
	prefix string // of the names of its jobs
	pods   *kubernetes.Clientset

	mu    sync.Mutex
	jobs  []submission
	lost  []string // names of jobs whose ends slurmctld lost
	kills []time.Time
	// released is when a held job was released, by its id.
	released map[string]time.Time
	samples  []sample
	faults   []string
}

// TestSoak runs the workload and the disturbances of each seed on the demo's cluster. Every job ends as requested, at its first start,
// except for what Slurm loses with a killed slurmctld. No worker flaps, no more workers than needed run for longer than a minute, and zero
// workers remain.
func TestSoak(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	e := installDemo(t)
	config, err := e.kube.RESTConfig()
	must(t, err)
	clients, err := kubernetes.NewForConfig(config)
	must(t, err)
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := &run{env: &env{t, e.kube}, dice: rand.New(rand.NewPCG(seed, 0)), released: map[string]time.Time{},
				prefix: fmt.Sprintf("soak%d-", seed),
				pods:   clients}
			r.soak(seed)
		})
	}
}

// soak runs one seed.
func (r *run) soak(seed uint64) {
	begin := time.Now()
	ctx, stop := context.WithCancel(r.Context())
	var observing, working sync.WaitGroup
	observing.Go(func() { r.observe(ctx) })
	end := begin.Add(*duration)
	working.Go(func() { r.submitJobs(rand.New(rand.NewPCG(seed, 1)), end) })
	working.Go(func() { r.disturb(end) })
	working.Wait()
	r.awaitEnd()
	r.awaitZero()
	stop()
	observing.Wait()
	r.report(begin)
}

// submitJobs submits jobs until a time.
func (r *run) submitJobs(dice *rand.Rand, end time.Time) {
	for n := 0; time.Now().Before(end); n++ {
		job := drawJob(dice)
		name := fmt.Sprint(r.prefix, n)
		if id, err := r.submit(name, job); err == nil {
			r.mu.Lock()
			r.jobs = append(r.jobs, submission{job, id, name, time.Now()})
			r.mu.Unlock()
			if len(job.Then) > 0 {
				time.AfterFunc(followUpAfter, func() { r.followUp(id, job) })
			}
		} // a job that was not accepted has no promised result
		time.Sleep(time.Duration(1+dice.IntN(4)) * time.Second)
	}
}

// submit returns the id of an accepted job.
func (r *run) submit(name string, job Job) (string, error) {
	out, err := r.login(r.Context(), slices.Concat([]string{"sbatch", "--parsable", "-o", "/dev/null", "-D", "/", "-J", name},
		job.Args)...)
	return out[strings.LastIndex(out, "\n")+1:], err
}

// followUp runs the command that a job waits for, until it succeeds.
func (r *run) followUp(id string, job Job) {
	err := process.Retry(r.Context(), 2*time.Minute, func(ctx context.Context) error {
		at := time.Now()
		_, err := r.controller(ctx, append(slices.Clone(job.Then), id)...)
		if err == nil {
			r.noteRelease(id, at)
		}
		return ignoreFinished(err) // an administrator may have released it
	})
	if err != nil {
		r.note("%v %s: %v", job.Then, id, err)
	}
}

// ignoreFinished returns nil for the error of a command about a job that has ended.
func ignoreFinished(err error) error {
	if err != nil && strings.Contains(err.Error(), "Job has already finished") {
		return nil
	}
	return err
}

// disturb does all disturbances in a random order, evenly until a time, and undoes each some seconds later.
func (r *run) disturb(end time.Time) {
	order := r.dice.Perm(len(disturbances))
	pause := time.Until(end) / time.Duration(len(order))
	var undone sync.WaitGroup
	for _, i := range order {
		d := disturbances[i]
		undo, err := d.do(r)
		if err != nil {
			r.note("%s: %v", d.name, err)
		} else {
			r.note("%s", d.name)
		}
		if undo != nil { // also after an error: the change may have been made
			undone.Go(func() {
				time.Sleep(15 * time.Second)
				if err := process.Retry(r.Context(), process.Patience, func(context.Context) error { return undo() }); err != nil {
					r.fault("undoing %q: %v", d.name, err)
				}
			})
		}
		time.Sleep(pause)
	}
	undone.Wait()
}

// evict evicts a pod.
func (r *run) evict(pod string) error {
	return r.pods.CoreV1().Pods(namespace).EvictV1(r.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: namespace}})
}

// awaitEnd waits until no job is left in the queue. What Slurm holds because of an id that it gave twice is cancelled.
func (r *run) awaitEnd() {
	err := process.Retry(r.Context(), 10*time.Minute, func(ctx context.Context) error {
		out, err := r.controller(ctx, "squeue", "-h", "-r", "-o", "%i %j %T %r")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, launchFailed) {
				r.note("held by Slurm: %s", line)
				r.noteLostStart(ctx, line)
				_ = r.scontrolCancel(ctx, strings.Fields(line)[0])
			}
		}
		if out != "" {
			r.releaseAgain(ctx, out)
			r.cancelLostEnds(ctx)
			return errors.New("jobs are left:\n" + out)
		}
		return nil
	})
	if err != nil {
		r.fault("%v", err)
	}
}

// noteLostStart notes a held job as lost if slurmctld had lost its start.
func (r *run) noteLostStart(ctx context.Context, line string) {
	reasons, err := r.controller(ctx, "sinfo", "-h", "-N", "-o", "%N %E")
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if isLostStart(line, reasons, r.kills) {
		r.note("slurmctld lost the start of %s", line)
		r.lost = append(r.lost, strings.Fields(line)[1])
	}
}

// releaseAgain releases jobs whose release slurmctld had not saved when it was killed (docs/development/slurm.md, "A killed
// slurmctld").
func (r *run) releaseAgain(ctx context.Context, queue string) {
	for line := range strings.Lines(queue) {
		id, _, _ := strings.Cut(strings.Fields(line)[0], "_")
		if r.hasLostRelease(id) && isHeld(line) {
			r.note("slurmctld lost the release of %s", line)
			_, _ = r.controller(ctx, "scontrol", "release", id)
		}
	}
}

func (r *run) hasLostRelease(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, has := r.released[id]
	return has && isLost(at, r.kills)
}

// noteRelease remembers when a command was that may have released a job.
func (r *run) noteRelease(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released[id] = at
}

// cancelLostEnds cancels jobs that ended right before slurmctld was killed. slurmctld believes that they run until slurmd registers again
// (docs/development/slurm.md, "A killed slurmctld").
func (r *run) cancelLostEnds(ctx context.Context) {
	queue, err := r.controller(ctx, "squeue", "-h", "-r", "-o", "%i|%j|%T")
	if err != nil {
		return
	}
	accounting, err := r.controller(ctx, "sacct", "-a", "-n", "-P", "-X", "-S", "now-3hours", "-o", "jobid,end,state")
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range findLostEnds(queue, accounting, r.kills) {
		if !slices.Contains(r.lost, job.name) {
			r.lost = append(r.lost, job.name)
		}
		r.note("slurmctld lost the end of %s (%s)", job.id, job.name)
		_ = r.scontrolCancel(ctx, job.id)
	}
}

func (r *run) scontrolCancel(ctx context.Context, id string) error {
	_, err := r.controller(ctx, "scancel", id)
	return err
}

// awaitZero waits until no worker is left.
func (r *run) awaitZero() {
	err := process.Retry(r.Context(), 3*time.Minute, func(ctx context.Context) error {
		out, err := r.tryKubectl(ctx, "get", "pods", "--selector=app.kubernetes.io/name=slurmd", "-o", "name")
		if err == nil && out != "" {
			err = errors.New("workers are left: " + out)
		}
		return err
	})
	if err != nil {
		r.fault("%v", err)
	}
}

// report fails the test for all that is wrong, and prints the figures.
func (r *run) report(begin time.Time) {
	var faults, lost []string
	err := process.Retry(r.Context(), time.Minute, func(context.Context) error { // records arrive a little later
		records, err := r.readRecords()
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if faults, lost = judgeJobs(r.jobs, records, r.kills, r.lost); len(faults) > 0 {
			return errors.New("jobs did not end as they were asked to")
		}
		return nil
	})
	if err != nil {
		r.Error(err)
	}
	faults = slices.Concat(faults, r.faults, findFlaps(r.samples), findExcess(r.samples))
	for _, fault := range faults {
		r.Error(fault)
	}
	for _, job := range lost {
		r.Logf("lost with a killed slurmctld: %s", job)
	}
	tasks := 0
	for _, job := range r.jobs {
		tasks += job.Tasks
	}
	r.Logf("%d jobs with %d tasks in %.0f s, %d disturbances, %d samples: %d faults, %d lost with a killed slurmctld", len(r.jobs),
		tasks, time.Since(begin).Seconds(), len(disturbances), len(r.samples), len(faults), len(lost))
}

func (r *run) addKill(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills = append(r.kills, at)
}

func (r *run) addSample(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, s)
}

// fault notes what must not happen.
func (r *run) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, time.Now().Format(time.TimeOnly)+" "+fmt.Sprintf(format, args...))
}

// note prints what happens.
func (r *run) note(format string, args ...any) {
	r.Logf("%s %s", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
