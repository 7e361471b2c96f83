package observed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestHashesOfShapes(t *testing.T) {
	hash := func(options string) string { return RecordShapeOf(options + " State=FUTURE").Hash }
	base := hash("Feature=n CPUs=4 RealMemory=1000 Gres=gpu:a100:4")
	if len(base) != hashLength {
		t.Errorf("the hash is %q", base)
	}
	for _, same := range []string{"Feature=n,fast CPUs=4 RealMemory=1000 Gres=gpu:a100:4",
		"realmemory=1000 gres=gpu:a100:4 Procs=4", `CPUs="4" RealMemory=1000 Gres=gpu:a100:4`} {
		if hash(same) != base {
			t.Errorf("%s is another shape", same)
		}
	}
	for _, other := range []string{"CPUs=4 RealMemory=1000 Gres=gpu:h100:8", "CPUs=8 RealMemory=1000 Gres=gpu:a100:4",
		"CPUs=4 RealMemory=1000 Gres=gpu:a100:4 Weight=3", "CPUs=4 RealMemory=1000 Gres=gpu:a100:4 Port=7000",
		"CPUs=4 RealMemory=1000 Gres=gpu:a100:4 MemSpecLimit=100"} {
		if hash(other) == base {
			t.Errorf("%s is the same shape", other)
		}
	}
	if s := RecordShapeOf("Feature=n RealMemory=1000 State=FUTURE"); s.Hash != "" || !s.IsKnown() {
		t.Errorf("a shape without CPUs is %+v", s)
	}
}

// node is a record as slurmrestd shows it.
func node(cpus uint32, memory uint64, gres string) *slurm.Node {
	return &slurm.Node{CPUs: cpus, EffectiveCPUs: cpus, MemoryMiB: memory, GRES: gres}
}

func TestShapesOfRecords(t *testing.T) {
	const worker = "Feature=n CPUs=4 RealMemory=1000 Gres=gpu:a100:4"
	for name, tc := range map[string]struct {
		options  string
		n        *slurm.Node
		hash     string
		is, more bool
	}{
		"the same":                            {worker, node(4, 1000, "gpu:a100:4"), "", true, false},
		"the same with sockets of the GPUs":   {worker, node(4, 1000, "gpu:a100:4(S:0-1)"), "", true, false},
		"a hash decides alone":                {worker, node(4, 1000, "gpu:a100:4"), "0a1b2c3d", false, false},
		"fewer CPUs":                          {worker, node(2, 1000, "gpu:a100:4"), "", false, false},
		"more CPUs":                           {worker, node(8, 1000, "gpu:a100:4"), "", false, true},
		"less memory":                         {worker, node(4, 500, "gpu:a100:4"), "", false, false},
		"more memory":                         {worker, node(4, 2000, "gpu:a100:4"), "", false, true},
		"fewer GPUs":                          {worker, node(4, 1000, "gpu:a100:2"), "", false, false},
		"more GPUs":                           {worker, node(4, 1000, "gpu:a100:8"), "", false, true},
		"no GPUs":                             {worker, node(4, 1000, ""), "", false, false},
		"other GPUs":                          {worker, node(4, 1000, "gpu:h100:4"), "", false, true},
		"GPUs without their type":             {worker, node(4, 1000, "gpu:4"), "", true, true},
		"GPUs of a type that is new":          {worker + ",gpu:h100:1", node(4, 1000, "gpu:a100:4"), "", false, true},
		"GPUs that the workers have not":      {"CPUs=4 RealMemory=1000", node(4, 1000, "gpu:a100:4"), "", false, true},
		"GPUs that cannot be read":            {worker, node(4, 1000, "gpu:a100:4x"), "", true, true},
		"reserved cores":                      {worker + " CoreSpecCount=1", node(4, 1000, "gpu:a100:4"), "0a1b2c3d", false, true},
		"nothing is stated":                   {"Feature=n", node(16, 64000, ""), "", true, false},
		"a hash does not matter without CPUs": {"Feature=n RealMemory=1000", node(4, 1000, ""), "0a1b2c3d", true, false},
		"CPUs as sockets, cores and threads":  {"Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", node(32, 1, ""), "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := RecordShapeOf(tc.options + " State=FUTURE")
			if is := s.IsOf(tc.n, tc.hash); is != tc.is {
				t.Errorf("IsOf = %v", is)
			}
			if more := s.IsExceededBy(tc.n); more != tc.more {
				t.Errorf("IsExceededBy = %v", more)
			}
		})
	}
}

func TestFeaturesOfFutureRecords(t *testing.T) {
	s := RecordShapeOf("Feature=n,fast CPUs=4 State=FUTURE")
	n := &slurm.Node{Features: []string{"n", "slow", "k8s/rack-1"}}
	if diff := cmp.Diff([]string{"n", "fast", "k8s/rack-1"}, s.FeaturesOf(n)); diff != "" {
		t.Error(diff)
	}
}

func TestGRESThatMustBeWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		gres, shown string
		want        bool
	}{
		"nothing is lost":            {"gpu:a100:4", "gpu:a100:4", false},
		"a type":                     {"gpu:a100:4", "gpu:4", true},
		"a type, with sockets":       {"gpu:a100:4", "gpu:4(S:0)", true},
		"one of two kinds":           {"gpu:a100:4,nic:2", "gpu:4,nic:2", true},
		"two types of one kind":      {"gpu:a100:4,gpu:h100:2", "gpu:6", true},
		"two slices of one GPU":      {"gpu:1g.10gb:2,gpu:3g.20gb:1", "gpu:3", true},
		"a type beside shards":       {"gpu:h100:2,shard:8", "gpu:2,shard:8", true},
		"a type without a count":     {"gpu:h100", "gpu:1", true},
		"another count":              {"gpu:a100:4", "gpu:8", false},
		"another kind":               {"gpu:a100:4", "nic:4", false},
		"another type":               {"gpu:a100:4", "gpu:h100:4", false},
		"a kind is missing":          {"gpu:a100:4,nic:2", "gpu:4", false},
		"all is missing":             {"gpu:a100:4", "", false},
		"the NodeSet has none":       {"", "gpu:4", false},
		"GRES that cannot be parsed": {"gpu:a100:4", "gpu:4x", false},
	} {
		t.Run(name, func(t *testing.T) {
			options := "CPUs=4"
			if tc.gres != "" {
				options += " Gres=" + tc.gres
			}
			s := RecordShapeOf(options)
			if got := s.LacksGRES(node(4, 1000, tc.shown), s.Hash); got != tc.want {
				t.Errorf("LacksGRES = %v", got)
			}
		})
	}
}

// TestAKindThatIsNotShown: a record that was created while GresTypes lacked its kind shows it no more. Where slurmctld may not know the
// kind, writing it would change nothing.
func TestAKindThatIsNotShown(t *testing.T) {
	for _, tc := range []struct {
		shown string
		lacks bool
	}{{"", true}, {"nic:2", true}, {"gpu:4", true}, {"gpu:a100:4,nic:2", false}} {
		s := RecordShapeOf("CPUs=4 Gres=gpu:a100:4,nic:2")
		s.KnowsKinds = true
		if got := s.LacksGRES(node(4, 1000, tc.shown), s.Hash); got != tc.lacks {
			t.Errorf("with %q it lacks GRES: %t", tc.shown, got)
		}
	}
}

// TestGRESOfAnEarlierVersion: it did not write them on the records after their creation, which no record shows.
func TestGRESOfAnEarlierVersion(t *testing.T) {
	for gres, lacks := range map[string]bool{"": false, "gpu:2": true, "gpu:a100:2": true} {
		s := RecordShapeOf(strings.TrimSuffix("CPUs=4 Gres="+gres, " Gres="))
		n := node(4, 1000, gres)
		if got := s.LacksGRES(n, s.HashWithoutGRES()); got != lacks || !s.IsOf(n, s.HashWithoutGRES()) || s.LacksGRES(n, s.Hash) {
			t.Errorf("%q: LacksGRES = %v, the shape is %+v", gres, got, s)
		}
	}
}
