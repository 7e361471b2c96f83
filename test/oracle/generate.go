package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// NewScene is the scene of a seed: the same for the same seed.
func NewScene(seed uint64) Scene {
	random := rand.New(rand.NewPCG(seed, 0))
	variants := Variants()
	scene := Scene{Seed: seed, Variant: &variants[random.IntN(len(variants))]}
	for n := range 1 + random.IntN(10) {
		scene.Queue = append(scene.Queue, Job{Name: fmt.Sprintf("q%d", n+1), Args: randomJob(random, scene.Variant)})
	}
	return scene
}

// randomJob draws the arguments of a job.
func randomJob(random *rand.Rand, v *Variant) string {
	var args []string
	add := func(format string, values ...any) { args = append(args, fmt.Sprintf(format, values...)) }
	add("-p %s", v.Pools[random.IntN(len(v.Pools))].Partitions[0])
	switch random.IntN(4) {
	case 0:
		add("-n %d", 1+random.IntN(8))
	case 1:
		add("-N %d", 1+random.IntN(4))
	case 2:
		add("-n %d -c %d", 1+random.IntN(4), 1+random.IntN(4))
	}
	if random.IntN(4) == 0 {
		add("--array=0-%d", 1+random.IntN(5))
	}
	return strings.Join(args, " ")
}
