package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// NewScenario returns the scenario of a seed. The same seed returns the same scenario.
func NewScenario(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 0))
	variants := Variants()
	scenario := Scenario{Seed: seed, Variant: &variants[random.IntN(len(variants))]}
	for n := range 1 + random.IntN(8) {
		g := generator{random, scenario.Variant, n}
		scenario.Queue = append(scenario.Queue, Job{Name: fmt.Sprintf("q%d", n+1), Args: g.drawJob()})
	}
	scenario.InitialWorkers, scenario.InitialJobs = drawInitialState(generator{rand.New(rand.NewPCG(seed, 1)),
		scenario.Variant, 0})
	return scenario
}

// drawInitialState draws the workers that exist before the queue is submitted, and the jobs that were submitted to
// them. Half of the scenarios have neither.
func drawInitialState(g generator) (there []uint64, before []Job) {
	some := g.oneIn(2)
	for _, p := range g.variant.Pools {
		n := uint64(0)
		if some {
			n = g.Uint64N(p.Max/2 + 1)
		}
		there = append(there, n)
	}
	if some {
		for n := range g.upTo(4) {
			before = append(before, Job{Name: fmt.Sprintf("b%d", n+1), Args: g.drawComponent()})
		}
	}
	return there, before
}

// generator draws the next job of a queue after earlierJobs jobs.
type generator struct {
	*rand.Rand
	variant     *Variant
	earlierJobs int
}

// oneIn returns true once in n times.
func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// upTo draws a number from 1 to most.
func (g generator) upTo(most int) int { return 1 + g.IntN(most) }

func (g generator) pickOne(of []string) string { return of[g.IntN(len(of))] }

// drawJob draws the sbatch arguments of a job.
func (g generator) drawJob() string {
	args := g.drawComponent()
	if g.oneIn(25) {
		args += " : " + g.drawComponent()
		return args // a heterogeneous job cannot be an array
	}
	if g.oneIn(4) {
		args += fmt.Sprintf(" --array=0-%d", g.upTo(5))
		if g.oneIn(3) {
			args += fmt.Sprintf("%%%d", g.upTo(3))
		}
	}
	return args + g.drawWait()
}

// drawComponent draws what a job requests of its nodes.
func (g generator) drawComponent() string {
	args := []string{"-p " + g.pickOne(g.variant.Partitions), g.drawSize(), g.drawMemory()}
	if len(g.variant.GRES) > 0 && g.oneIn(2) {
		args = append(args, g.drawGRES())
	}
	if len(g.variant.Constraints) > 0 && g.oneIn(3) {
		args = append(args, "-C '"+g.pickOne(g.variant.Constraints)+"'")
	}
	if len(g.variant.QOS) > 0 && g.oneIn(2) {
		args = append(args, "--qos="+g.pickOne(g.variant.QOS))
	}
	if len(g.variant.Accounts) > 0 && g.oneIn(3) {
		args = append(args, "-A "+g.pickOne(g.variant.Accounts))
	}
	args = append(args, g.drawNames())
	return strings.Join(strings.Fields(strings.Join(args, " ")), " ")
}

func (g generator) drawSize() string {
	switch g.IntN(12) {
	case 0, 1, 2:
		return fmt.Sprintf("-n %d", g.upTo(8))
	case 3, 4:
		return fmt.Sprintf("-N %d", g.upTo(4))
	case 5:
		nodes := g.upTo(3)
		return fmt.Sprintf("-N %d -n %d", nodes, nodes*g.upTo(3))
	case 6, 7:
		return fmt.Sprintf("-n %d -c %d", g.upTo(4), g.upTo(4))
	case 8:
		return fmt.Sprintf("-N %d --exclusive", g.upTo(2))
	case 9:
		return fmt.Sprintf("-n %d --ntasks-per-node=%d", g.upTo(6), g.upTo(3))
	}
	return ""
}

func (g generator) drawMemory() string {
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf("--mem=%d", 500*g.upTo(8))
	case 1:
		return fmt.Sprintf("--mem-per-cpu=%d", 500*g.upTo(4))
	}
	return ""
}

func (g generator) drawGRES() string {
	gres, n := g.pickOne(g.variant.GRES), g.upTo(4)
	switch g.IntN(5) {
	case 0, 1:
		return fmt.Sprintf("--gres=%s:%d", gres, n)
	case 2:
		return fmt.Sprintf("--gpus-per-node=%d", n)
	case 3:
		return fmt.Sprintf("--gpus-per-task=%d", min(n, 3))
	}
	return fmt.Sprintf("--gpus=%d", n)
}

// drawNames draws the nodes that the job names.
func (g generator) drawNames() string {
	p := g.variant.Pools[g.IntN(len(g.variant.Pools))]
	switch g.IntN(40) {
	case 0:
		return "-w " + workerName(p.Name, uint64(g.IntN(4)))
	case 1:
		return "-x " + workerName(p.Name, uint64(g.IntN(3)))
	}
	return ""
}

// drawWait draws what a job waits for besides nodes, and its priority.
func (g generator) drawWait() string {
	switch g.IntN(30) {
	case 0:
		return " -H"
	case 1:
		return " --begin=now+1hour"
	case 2, 3:
		return fmt.Sprintf(" -L matlab:%d", 5*g.upTo(3))
	case 4, 5:
		return fmt.Sprintf(" --nice=%d", 100*g.upTo(3))
	case 6:
		return fmt.Sprintf(" -t %d", 10*g.upTo(6))
	case 7:
		if g.earlierJobs > 0 {
			// A job that minimising removed adds no dependency.
			other := fmt.Sprintf("q%d", g.upTo(g.earlierJobs))
			return fmt.Sprintf(" ${%s:+--dependency=afterany:$%s}", other, other)
		}
	}
	return ""
}
