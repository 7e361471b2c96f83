package view

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newJobTimeline returns a timeline of the jobs in a directory.
func newJobTimeline(d *fakeDirectory) *timeline[slurm.Job] {
	return newTimeline(jobResource(), d, Config{Now: noon, MaxAge: metricsapi.DefaultMaxAge}, 7)
}

func refreshed(t *testing.T, line *timeline[slurm.Job]) *frame[slurm.Job] {
	t.Helper()
	f, err := line.refresh()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// formatChanges returns changes as text: +added -deleted ~modified.
func formatChanges(changes []change[slurm.Job]) string {
	var out []string
	for _, c := range changes {
		switch {
		case c.old == nil:
			out = append(out, fmt.Sprintf("+%s%d", c.cluster.prefix, c.now.ID))
		case c.now == nil:
			out = append(out, fmt.Sprintf("-%s%d", c.cluster.prefix, c.old.ID))
		default:
			out = append(out, fmt.Sprintf("~%s%d", c.cluster.prefix, c.now.ID))
		}
	}
	return strings.Join(out, " ")
}

func TestFramesDifferByWhatClientsSee(t *testing.T) {
	one, two, three := newJob(1, slurm.JobRunning), newJob(2, slurm.JobPending), newJob(10, slurm.JobPending)
	evaluated := newJob(2, slurm.JobPending)
	evaluated.LastSchedEval = two.LastSchedEval + 30
	red, blue := clusterRef("a", "red"), clusterRef("b", "blue")
	for _, tc := range []struct {
		name     string
		old, now []Source
		want     string // "" for no new frame
	}{
		{"the same snapshot", []Source{sourceOf(red, 1, one, two)}, []Source{sourceOf(red, 1, one, two)}, ""},
		{"a job was added, one modified and one deleted", []Source{sourceOf(red, 1, one, two)},
			[]Source{sourceOf(red, 2, newJob(2, slurm.JobRunning), three)}, "-red.1 ~red.2 +red.10"},
		{"a new connection reads the same", []Source{sourceOf(red, 5, one, two)},
			[]Source{sourceOf(red, 1, newJob(1, slurm.JobRunning), newJob(2, slurm.JobPending))}, ""},
		{"the scheduler evaluates a job again", []Source{sourceOf(red, 1, one, two)}, []Source{sourceOf(red, 2, one, evaluated)}, ""},
		{"a new connection has read nothing yet", []Source{sourceOf(red, 5, one)}, []Source{unreadSource(red)}, ""},
		{"a cluster is added", []Source{sourceOf(red, 1, one)}, []Source{sourceOf(red, 1, one), sourceOf(blue, 1, two)},
			"+blue.2"},
		{"a cluster is removed", []Source{sourceOf(red, 1, one), sourceOf(blue, 1, two)},
			[]Source{sourceOf(blue, 1, two)}, "-red.1"},
		{"a cluster is read for the first time", []Source{unreadSource(red)}, []Source{sourceOf(red, 1, one)},
			"+red.1"},
		{"the last job is deleted", []Source{sourceOf(red, 1, one)}, []Source{sourceOf(red, 2)}, "-red.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDirectory(tc.old...)
			line := newJobTimeline(d)
			before := refreshed(t, line)
			_, moved := line.latest()
			d.set(tc.now...)
			after := refreshed(t, line)
			if got := formatChanges(after.changes); tc.want != "" && got != tc.want {
				t.Errorf("changes are %q, want %q", got, tc.want)
			}
			if (after.version != before.version) != (tc.want != "") {
				t.Errorf("versions are %d and %d", before.version, after.version)
			}
			select {
			case <-moved:
				if tc.want == "" {
					t.Error("watches are notified although nothing changed")
				}
			default:
				if tc.want != "" {
					t.Error("watches are not notified")
				}
			}
			if tc.want != "" && (after.before != before.version || line.frameAt(before.version) != before) {
				t.Error("the previous frame is not kept")
			}
		})
	}
}

func TestAChangeOfPrivateDataMakesAFrame(t *testing.T) {
	s := sourceOf(clusterRef("a", "red"), 1, newJob(1, slurm.JobRunning))
	d := newDirectory(s)
	line := newJobTimeline(d)
	before := refreshed(t, line)
	d.set(s.withDefault(PrivateData{Jobs: true}))
	if after := refreshed(t, line); after.version == before.version {
		t.Error("there is no new frame")
	}
}

func TestUnreadPrivateDataHidesEverything(t *testing.T) {
	s := sourceOf(clusterRef("a", "red"), 1, newJob(1, slurm.JobRunning))
	d := newDirectory(s.withUnreadConf())
	line := newJobTimeline(d)
	if p := refreshed(t, line).clusters[0]; p.known || !p.private || len(p.records) != 0 {
		t.Errorf("before PrivateData was read there are %d jobs, known is %t, and private is %t", len(p.records),
			p.known, p.private)
	}
	d.set(s.withConf("accounts"))
	open := refreshed(t, line)
	if p := open.clusters[0]; !p.known || p.private || len(p.records) != 1 {
		t.Errorf("after PrivateData was read there are %d jobs, known is %t, and private is %t", len(p.records),
			p.known, p.private)
	}
	d.set(s.withUnreadConf())
	if f := refreshed(t, line); f != open {
		t.Error("a new connection that has not read PrivateData creates a new frame")
	}
	d.set(unreadSource(clusterRef("a", "red")))
	if f := refreshed(t, line); f != open {
		t.Error("a lost connection creates a new frame")
	}
	d.set(s.withConf("accounts", "jobs"))
	if f := refreshed(t, line); f == open || !f.clusters[0].private {
		t.Error("a change of PrivateData creates no new frame")
	}
}

func TestClustersOfOneNameHaveObjectsOfDifferentNames(t *testing.T) {
	a, b := ClusterRef{"Cluster", "a", "red"}, ClusterRef{"Controller", "a", "red"}
	f := refreshed(t, newJobTimeline(newDirectory(sourceOf(a, 1, newJob(1, slurm.JobRunning)),
		sourceOf(b, 1, newJob(1, slurm.JobRunning)))))
	if p, q := f.clusters[0].prefix, f.clusters[1].prefix; p != "cluster:red." || q != "red." {
		t.Errorf("names begin with %q and %q", p, q)
	}
}

func TestOldFramesAreDropped(t *testing.T) {
	d := newDirectory()
	line := newJobTimeline(d)
	first := refreshed(t, line)
	jobs := make([]any, 100)
	for round := range 300 {
		for i := range jobs {
			jobs[i] = newJob(uint32(i+1), slurm.JobPending,
				func(j *slurm.Job) { j.Priority = slurm.Num(uint64(round)) })
		}
		d.set(sourceOf(clusterRef("a", "red"), uint64(round+1), jobs...))
		refreshed(t, line)
	}
	if line.frameAt(first.version) != nil {
		t.Errorf("%d frames are kept", len(line.frames))
	}
	newest, _ := line.latest()
	if line.frameAt(newest.version) != newest {
		t.Error("the newest frame is not kept")
	}
	held := 0
	for _, f := range line.frames[1:] {
		held += len(f.changes)
	}
	if held > maxChanges {
		t.Errorf("%d changes are kept", held)
	}
}

func TestVersionsGrowThoughTheClockStands(t *testing.T) {
	d := newDirectory()
	line := newJobTimeline(d)
	last := refreshed(t, line).version
	if at := last.at(); !at.Equal(noon()) {
		t.Errorf("the first version is of %s, want the time, %s", at, noon())
	}
	for i := range 3 {
		d.set(sourceOf(clusterRef("a", "red"), uint64(i+1), newJob(uint32(i+1), slurm.JobPending)))
		next := refreshed(t, line).version
		if next <= last {
			t.Errorf("%d follows %d", next, last)
		}
		last = next
	}
}

func TestWithoutADirectoryNothingIsKnown(t *testing.T) {
	d := newDirectory()
	d.err = errors.New("not listed yet")
	if _, err := newJobTimeline(d).refresh(); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the error is %v", err)
	}
}

// BenchmarkRefresh creates a frame of 100,000 jobs, a hundred of which have changed.
func BenchmarkRefresh(b *testing.B) {
	const count = 100_000
	jobs := make([]any, count)
	for i := range jobs {
		jobs[i] = newJob(uint32(i+1), slurm.JobPending)
	}
	states := [2]Source{sourceOf(clusterRef("a", "red"), 1, jobs...)}
	for i := range 100 {
		jobs[i*1000] = newJob(uint32(i*1000+1), slurm.JobRunning)
	}
	states[1] = sourceOf(clusterRef("a", "red"), 2, jobs...)
	d := newDirectory(states[0])
	line := newJobTimeline(d)
	_, _ = line.refresh()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.set(states[(i+1)%2])
		if f, err := line.refresh(); err != nil || len(f.changes) != 100 {
			b.Fatal(err, len(f.changes))
		}
	}
}

// A nil record stands for data that the code does not expect.
func TestAPanicLeavesTheObjectsOfItsClusterAsTheyWere(t *testing.T) {
	red, blue := clusterRef("a", "red"), clusterRef("b", "blue")
	d := newDirectory(sourceOf(red, 1, newJob(1, slurm.JobRunning)), sourceOf(blue, 1))
	line := newJobTimeline(d)
	var failed []string
	line.onPanic = func(cluster string, err error) {
		failed = append(failed, fmt.Sprint(cluster, " ", slurmclient.PanicOf(err) != nil))
	}
	refreshed(t, line)
	d.set(sourceOf(red, 2, (*slurm.Job)(nil), (*slurm.Job)(nil)), sourceOf(blue, 2, newJob(2, slurm.JobRunning)))
	f := refreshed(t, line)
	if got := formatChanges(f.changes); got != "+blue.2" {
		t.Errorf("the changes are %q", got)
	}
	if p := f.cluster(red); len(p.records) != 1 || !p.known {
		t.Errorf("the jobs of the cluster that panicked are %+v", p)
	}
	if len(failed) != 1 || failed[0] != "a/red true" {
		t.Errorf("the reported panics are %q", failed)
	}
}

// With many clusters there are several frames in a second.
func TestFramesAreKeptForAWhile(t *testing.T) {
	d := newDirectory()
	at := noon()
	line := newTimeline(jobResource(), d, Config{Now: func() time.Time { return at }, MaxAge: time.Hour}, 7)
	first := refreshed(t, line)
	for i := range 10 * maxFrames {
		at = at.Add(keepFrames / 10 / maxFrames)
		d.set(sourceOf(clusterRef("a", "red"), uint64(i+1), newJob(uint32(i+1), slurm.JobPending)))
		refreshed(t, line)
	}
	if line.frameAt(first.version) != nil || line.frameToContinue(newVersion(at.Add(-keepFrames+time.Second), 7, 0)) == nil {
		t.Errorf("after %s, %d frames are kept", at.Sub(noon()), len(line.frames))
	}
}
