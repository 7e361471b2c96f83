package behaviour

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// killScenario is a sequence of changes to NodeSet gpu while jobs run on it, by turn. From turn from on, the
// process is killed.
type killScenario struct {
	name   string
	set    *v1beta1.NodeSet
	from   int
	events map[int]func(*testEnv)
	// anyOrdinals: the outcome may differ in the remaining ordinals.
	anyOrdinals bool
}

func killScenarios() []killScenario {
	update := func(r *testEnv) { r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf += " Weight=2" }) }
	remove := func(r *testEnv) { r.must(r.Delete(r.t.Context(), r.nodeSet())) }
	return []killScenario{
		{"creation", nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(3)), 0, nil, false},
		{"scale-in", nodesettest.NewNodeSet(3, nodesettest.WithMaxReplicas(3)), 2,
			map[int]func(*testEnv){2: func(r *testEnv) { r.scale(1) }},
			false},
		{"scale-in and out again", nodesettest.NewNodeSet(3), 2,
			map[int]func(*testEnv){2: func(r *testEnv) { r.scale(0) }, 4: func(r *testEnv) { r.scale(2) }}, true},
		{"update", nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2)), 2, map[int]func(*testEnv){2: update},
			false},
		{"deletion", nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(3)), 2, map[int]func(*testEnv){2: remove},
			false},
		{"deletion right after creation", nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(3)), 0,
			map[int]func(*testEnv){1: remove},
			false},
		{"another release", nodesettest.NewNodeSet(2, withImage("slurmd:24.11")), 2, map[int]func(*testEnv){
			0: func(r *testEnv) { r.setSlurmctld("26.05") },
			2: func(r *testEnv) { r.change(withImage("slurmd:26.05")) }}, false},
		{"a release that is refused", nodesettest.NewNodeSet(2, withImage("slurmd:24.11")), 2, map[int]func(*testEnv){
			0: func(r *testEnv) { r.setSlurmctld("24.11") },
			2: func(r *testEnv) { r.change(withImage("slurmd:26.05")) }}, false},
		{"deletion during an update", nodesettest.NewNodeSet(2), 2, map[int]func(*testEnv){2: update, 4: remove},
			false},
	}
}

// killer strikes at a write. Either the process ends before it, or the write is made and
// its answer is lost.
type killer struct {
	at, count          int
	loseAnswer         bool
	killed, answerLost bool
}

var errKilled = errors.New("the process is not there any more")

func (k *killer) before() error {
	k.count++
	if k.killed = k.killed || k.count == k.at && !k.loseAnswer; k.killed {
		return errKilled
	}
	return nil
}

func (k *killer) after(err error) error {
	if k.loseAnswer && k.count == k.at {
		k.answerLost = true
		return errors.New("the answer is lost")
	}
	return err
}

// play runs a story with the killer, and returns how it ends. After a process that ended
// another one, that remembers nothing, continues.
func (s killScenario) play(t *testing.T, k *killer) string {
	set := s.set.DeepCopy()
	r := newTestEnv(t, set)
	queue, left := []uint32{1, 2, 3, 4}, map[uint32]int{}
	quiet := 0
	for turn := 0; quiet < 2; turn++ {
		if turn > 40 {
			t.Fatalf("it does not end; the pods are %s, the last writes %q", r.podNames(),
				r.writes[max(0, len(r.writes)-5):])
		}
		if f := s.events[turn]; f != nil {
			f(r)
		}
		writes := len(r.writes) + len(r.slurm.Calls)
		if turn >= s.from {
			r.before, r.after = k.before, k.after
		}
		r.now = r.now.Add(10 * time.Second)
		r.slurm.Poll()
		_, err := r.Reconcile(t.Context(), request)
		r.before, r.after = func() error { return nil }, func(err error) error { return err }
		switch {
		case k.killed:
			k.killed = false
			r.restart()
		case k.answerLost:
			k.answerLost = false
		case err != nil:
			t.Fatal(err)
		}
		if len(r.writes)+len(r.slurm.Calls) == writes && len(left) == 0 && turn > 4 {
			quiet++
		}
		r.kubelet()
		queue = r.runJobs(queue, left)
	}
	if s.anyOrdinals {
		return regexp.MustCompile(`(gpu|kube)-[0-9]`).ReplaceAllString(r.outcome(), "$1-x")
	}
	return r.outcome()
}

// runJobs runs jobs for four turns each, on any Slurm node that takes them.
func (r *testEnv) runJobs(queue []uint32, left map[uint32]int) []uint32 {
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if left[id]--; left[id] == 0 {
			r.slurm.End(id)
			delete(left, id)
		}
	}
	for _, pod := range r.pods() {
		n := r.slurm.Nodes[observed.SlurmName(pod)]
		if n != nil && len(queue) > 0 && n.State.Base == slurm.NodeIdle && !n.State.Has(slurm.NodeDrain) {
			r.slurm.Start(queue[0], n.Name)
			left[queue[0]] = 4
			queue = queue[1:]
		}
	}
	return queue
}

// outcome returns all objects and records, without times and versions.
func (r *testEnv) outcome() string {
	var out strings.Builder
	set := &v1beta1.NodeSet{}
	if err := r.Get(r.t.Context(), request.NamespacedName, set); !apierrors.IsNotFound(err) {
		r.must(err)
	}
	status := set.Status
	for i := range status.Conditions {
		c := &status.Conditions[i]
		fmt.Fprintf(&out, "%s %s %s %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	status.Conditions = nil
	slices.SortFunc(status.ImageReleases,
		func(a, b v1beta1.ImageRelease) int { return strings.Compare(a.Image, b.Image) })
	fmt.Fprintf(&out, "%+v\n", status)
	for _, p := range r.pods() {
		fmt.Fprintf(&out, "pod %s %s %+v %v\n", p.Name, revisionOf(p), observed.DrainMark(p), len(p.Status.Conditions))
	}
	for _, name := range slices.Sorted(maps.Keys(r.slurm.Nodes)) {
		n := r.slurm.Nodes[name]
		fmt.Fprintf(&out, "slurmNode %s %s %q %q\n", name, n.State, n.Reason, n.Comment)
	}
	return out.String()
}

// TestTheOperatorMayBeKilledAtEveryWrite holds every write of each story, and that its
// answer may be lost. That no pod is deleted with a job on it is seen by the store. With -short it holds each 30th
// write.
func TestTheOperatorMayBeKilledAtEveryWrite(t *testing.T) {
	for _, s := range killScenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			whole := &killer{}
			want := s.play(t, whole)
			if whole.count < 5 {
				t.Fatalf("there were %d writes", whole.count)
			}
			step := 1
			if testing.Short() {
				step = 30
			}
			for at := 1; at <= whole.count; at += step {
				for _, lose := range []bool{false, true} {
					got := s.play(t, &killer{at: at, loseAnswer: lose})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("at write %d (its answer lost: %t) it ends otherwise: %s", at, lose, diff)
					}
				}
			}
		})
	}
}
