//go:build e2e

package oracle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// knownCase is a queue whose required workers were wrong once. Real Slurm judges it like any other.
type knownCase struct {
	name, variant  string
	initialWorkers []uint64
	// initial are the arguments of the job that is submitted before the workers are up. If it is empty and there are workers, it is "-H" in
	// the variant's first partition. queue are the arguments of the other jobs, separated by "; ".
	initial, queue string
	// setUp and tearDown are shell commands that run before and after the case.
	setUp, tearDown string
	want            []uint64
	// unsatisfiable is how many jobs can never run.
	unsatisfiable int
}

func knownCases() []knownCase {
	return []knownCase{
		{name: "50 jobs of which a QOS allows two", variant: "limits",
			queue: "-p a --qos=two-jobs --exclusive --array=0-49", want: []uint64{2}},
		{name: "50 jobs of eight GPUs under a QOS with eight per user", variant: "limits on GPUs",
			queue: "-p g --qos=eight-gpus --gres=gpu:8 --array=0-49", want: []uint64{1}},
		{name: "50 jobs of four GPUs under a QOS with six in total", variant: "limits on GPUs",
			queue: "-p g --qos=six-gpus --gres=gpu:4 --array=0-49", want: []uint64{1}},
		{name: "50 jobs of which an account allows three", variant: "limits",
			queue: "-p a -A lab --exclusive --array=0-49", want: []uint64{3}},
		{name: "50 jobs whose account's parent has 24 CPUs", variant: "limits",
			queue: "-p a -A team --exclusive --array=0-49", want: []uint64{4}},
		{name: "50 jobs of which the licenses allow four", variant: "one NodeSet",
			queue: "-p a -L matlab:5 --exclusive --array=0-49", want: []uint64{4}},
		{name: "a job that excludes the idle worker", variant: "one NodeSet", initialWorkers: []uint64{1},
			queue: "-p a -x a-0", want: []uint64{2}},
		{name: "a job that names another worker than the idle one", variant: "one NodeSet", initialWorkers: []uint64{1},
			queue: "-p a -w a-7", want: []uint64{8}},
		{name: "a job on cores that are not specialized", variant: "specialized cores",
			queue: "-p s -n 8", want: []uint64{3}},
		{name: "a job of more cores than a worker has besides specialized ones", variant: "specialized cores",
			queue: "-p s -n 1 -c 4", want: []uint64{0}, unsatisfiable: 1},
		{name: "a job that waits for a busy worker, before others of its QOS, which allows two", variant: "limits",
			initialWorkers: []uint64{1}, initial: "-p a --exclusive",
			queue: "-p a -w a-0 --qos=two-jobs --exclusive; -p a --qos=two-jobs --exclusive --array=0-4",
			want:  []uint64{3}},
		{name: "five tasks on whole cores of two threads", variant: "two threads for each core",
			queue: "-p t -n 5 -c 1 --array=0-1", want: []uint64{2}},
		{name: "four tasks of three GPUs each on workers of four", variant: "typed GPUs",
			queue: "-p g -n 4 --gpus-per-task=3", want: []uint64{0, 4}},
		{name: "maintenance on every worker", variant: "one NodeSet",
			setUp:    "scontrol create reservationname=maintenance starttime=now duration=600 flags=maint users=root nodes=a-[0-15]",
			tearDown: "scancel -u root; scontrol delete reservationname=maintenance",
			queue:    "-p a --exclusive --array=0-3", want: []uint64{0}},
		{name: "maintenance on three missing workers", variant: "one NodeSet",
			setUp:    "scontrol create reservationname=maintenance starttime=now duration=600 flags=maint users=root nodes=a-[13-15]",
			tearDown: "scancel -u root; scontrol delete reservationname=maintenance",
			queue:    "-p a --exclusive --array=0-3", want: []uint64{4}},
	}
}

// TestKnownCasesOnRealSlurm runs queues for which demand was wrong once. Demand must require the
// known number of workers, every job that starts on all workers must start on these, and fewer must
// not be enough.
func TestKnownCasesOnRealSlurm(t *testing.T) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	t.Parallel() // in parallel with the random rounds
	for _, version := range realslurm.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			keeper, err := startAccountingCluster(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { keeper.Close() })
			for n, cases := range divideByVariant(knownCases(), knownCaseLanes) {
				t.Run(fmt.Sprint("lane ", n), func(t *testing.T) {
					t.Parallel()
					l, err := newSlurmEnv(t.Context(), keeper, fmt.Sprint("cases", n))
					if err != nil {
						t.Fatal(err)
					}
					defer l.close()
					for _, c := range cases {
						// The cache of the environment outlives the case.
						ctx := t.Context()
						t.Run(c.name, func(t *testing.T) { runCase(ctx, t, l, c) })
					}
				})
			}
		})
	}
}

// knownCaseLanes is how many clusters of a release run known cases at a time.
const knownCaseLanes = 4

// divideByVariant divides cases into lanes. Cases of one variant stay in one lane, since another variant restarts slurmctld.
func divideByVariant(cases []knownCase, lanes int) [][]knownCase {
	byVariant := map[string][]knownCase{}
	for _, c := range cases {
		byVariant[c.variant] = append(byVariant[c.variant], c)
	}
	names := slices.Sorted(maps.Keys(byVariant))
	slices.SortStableFunc(names, func(a, b string) int { return len(byVariant[b]) - len(byVariant[a]) })
	divided := make([][]knownCase, lanes)
	for _, name := range names {
		shortest := slices.MinFunc(divided, func(a, b []knownCase) int { return len(a) - len(b) })
		n := slices.IndexFunc(divided, func(lane []knownCase) bool { return len(lane) == len(shortest) })
		divided[n] = append(divided[n], byVariant[name]...)
	}
	return divided
}

func variantIndex(name string) int {
	return slices.IndexFunc(Variants(), func(v Variant) bool { return v.Name == name })
}

// runCase runs one case in the environment.
func runCase(ctx context.Context, t *testing.T, l *slurmEnv, c knownCase) {
	variant := Variants()[variantIndex(c.variant)]
	if c.initialWorkers == nil {
		c.initialWorkers = make([]uint64, len(variant.Pools))
	}
	scenario := Scenario{Variant: &variant, InitialWorkers: c.initialWorkers}
	for i, args := range strings.Split(c.queue, "; ") {
		scenario.Queue = append(scenario.Queue, Job{Name: fmt.Sprint("q", i+1), Args: args})
	}
	if slices.Max(c.initialWorkers) > 0 {
		initial := cmp.Or(c.initial, "-H -p "+variant.Partitions[0])
		scenario.InitialJobs = []Job{{Name: "b1", Args: initial}}
	}
	if l.variant == nil || l.variant.Name != variant.Name {
		if err := l.setVariant(ctx, &variant); err != nil {
			t.Fatal(err)
		}
	}
	defer runCommand(t, l, c.tearDown)
	runCommand(t, l, c.setUp)
	r, err := l.runScenario(ctx, scenario)
	if err != nil {
		t.Fatal(err)
	}
	never := 0
	for _, p := range r.Demand.Pools {
		for _, u := range p.Unsatisfiable {
			never += int(u.Jobs)
		}
	}
	if diff := gocmp.Diff([]any{c.want, c.unsatisfiable}, []any{r.Required.Up, never}); diff != "" {
		t.Errorf("required workers and jobs that can never run: %s\n%s", diff, describeRound(r))
	}
	if !r.Verdict.Exact {
		t.Error(describeRound(r))
	}
}

// runCommand runs shell commands in the environment, none if empty.
func runCommand(t *testing.T, l *slurmEnv, command string) {
	if command == "" {
		return
	}
	if out, err := l.shell.Run(command); err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, out))
	}
}
