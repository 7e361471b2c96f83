package exporter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestOnlyResourcesOfEnabledCollectorsAreNeeded(t *testing.T) {
	off := map[string]bool{}
	for _, c := range collector.Native() {
		off[c.Name] = false
	}
	got, err := Config{Collectors: off}.Resources()
	if err != nil {
		t.Fatal(err)
	}
	want := []slurmclient.Resource{slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions,
		slurmclient.Stats}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	off["licenses"] = true
	if got, _ = (Config{Collectors: off}).Resources(); len(got) != 6 {
		t.Errorf("with licenses: %v", got)
	}
}

func TestRunShowsWhatIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := exportertest.NewSource(exportertest.EmptySnapshot())
		e, err := New(source, allCollectorsConfig())
		if err != nil {
			t.Fatal(err)
		}
		if e.Ready() == nil {
			t.Error("ready before the first snapshot")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		synctest.Wait()
		if err := e.Ready(); err == nil || !strings.Contains(err.Error(), "nodes have not been read yet") {
			t.Errorf("ready before the first reading: %v", err)
		}
		source.Publish(func(s *slurmclient.Snapshot) {
			n := s.Sequence
			*s = *exportertest.SmallCluster()
			s.Sequence = n
		})
		synctest.Wait()
		if err := e.Ready(); err != nil {
			t.Error(err)
		}
		if text := scrapeText(t, e, exposition.Native); !strings.Contains(text, "slurm_up 1\n") ||
			!strings.Contains(text, `slurm_nodes{state="idle"} 1`) {
			t.Errorf("the snapshot is not shown:\n%s", text)
		}
		cancel()
		<-done
	})
}

func TestJobsThatEndBetweenScrapesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := exportertest.NewSource(exportertest.SmallCluster())
		e, err := New(source, allCollectorsConfig())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		synctest.Wait()
		for id := range uint32(2) {
			source.Publish(func(s *slurmclient.Snapshot) {
				failed := exportertest.NewJob(90+id,
					func(j *slurm.Job) { exportertest.SetRunning(j); j.State = slurm.ParseJobState("FAILED") })
				s.Jobs.Sequence++
				s.Jobs.Value = append(slices.Clone(s.Jobs.Value), failed)
			})
			synctest.Wait()
		}
		if e.pages.LastPage() != nil {
			t.Error("a page was rendered without a scrape")
		}
		if text := scrapeText(t, e, exposition.Native); !strings.Contains(
			text, `slurm_jobs_ended_total{partition="cpu",state="failed"} 2`) {
			t.Errorf("the ended jobs are not all counted:\n%s", linesOf(text, "slurm_jobs_ended_total"))
		}
		cancel()
		<-done
	})
}

func TestSectionsAreRenderedOnlyWhenTheirSourcesChange(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	r := e.newRenderer()
	first := r.Render(exportertest.Epoch, exportertest.SmallCluster())
	s := exportertest.SmallCluster()
	s.Sequence++
	s.Jobs.Err = errors.New("failed")
	s.Licenses.Sequence++
	second := r.Render(exportertest.Epoch.Add(time.Second), s)
	for i, c := range e.collectors {
		if len(first.Sections[i].Families) == 0 {
			continue // it counts what comes after the first reading
		}
		same := &first.Sections[i].Families[0] == &second.Sections[i].Families[0]
		if same == slices.Contains(c.Needs, slurmclient.Licenses) {
			t.Errorf("%s: rendered again is %v", c.Name, !same)
		}
	}
	third := r.Render(exportertest.Epoch.Add(memo.MaxAge+time.Second), s)
	for i, c := range e.collectors {
		if len(second.Sections[i].Families) == 0 {
			continue
		}
		same := &second.Sections[i].Families[0] == &third.Sections[i].Families[0]
		if same == c.TimeDependent {
			t.Errorf("%s after a while: rendered again is %v", c.Name, !same)
		}
	}
}

func TestUp(t *testing.T) {
	failed := func(p *slurmclient.Poll) { p.Err = errors.New("failed") }
	for _, tc := range []struct {
		name   string
		change func(s *slurmclient.Snapshot)
		want   bool
	}{
		{"every poll succeeded", func(*slurmclient.Snapshot) {}, true},
		{"jobs could not be read", func(s *slurmclient.Snapshot) { failed(&s.Jobs.Poll) }, false},
		{"nodes were never read", func(s *slurmclient.Snapshot) { s.Nodes.Known = false }, false},
		{"slurmdbd does not answer", func(s *slurmclient.Snapshot) { failed(&s.QOS.Poll) }, true},
		{"no slurmctld responds", func(s *slurmclient.Snapshot) { s.Pings.Value = nil }, false},
		{"ping is not polled", func(s *slurmclient.Snapshot) { s.Pings = slurmclient.Reading[[]slurm.Ping]{} }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := exportertest.SmallCluster()
			tc.change(s)
			if got := isUp(s); got != tc.want {
				t.Errorf("up is %v", got)
			}
		})
	}
}
