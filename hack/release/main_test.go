package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/hack/release/internal/checksums"
	"github.com/slurmtide/slurmtide/hack/release/internal/publish"
	"github.com/slurmtide/slurmtide/hack/release/internal/source"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name      string
		args      []string
		wantSteps []string
		wantErr   string
	}{
		{"all steps", nil, allSteps, ""},
		{"one step", []string{"--dist", "x", "notes"}, []string{"notes"}, ""},
		{"a misspelt step", []string{"image"}, nil, `no step "image", the steps are: programs images charts notes`},
		{"an existing release is not made", []string{"--existing", "notes"}, nil, "--existing makes nothing"},
		{"images need programs", []string{"images"}, nil, "needs the step programs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := parse(test.args, io.Discard)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("parse = %v, want an error with %q", err, test.wantErr)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(o.steps, test.wantSteps) {
				t.Errorf("parse = %v, %v, want %v", o.steps, err, test.wantSteps)
			}
			if !filepath.IsAbs(o.dist) || !filepath.IsAbs(o.cache) || !filepath.IsAbs(o.root) {
				t.Errorf("folders are not absolute: %+v", o)
			}
		})
	}
}

func TestExitStatus(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want int
		text string
	}{
		{"help", []string{"--help"}, 0, "usage: release"},
		{"an unknown flag", []string{"--nope"}, 2, "flag provided but not defined"},
		{"no release to push", []string{"--existing", "--dist", "/nonexistent"}, 1, "release: /nonexistent has no release"},
		{"no repository", []string{"--root", "/nonexistent"}, 1, "release: /nonexistent has no charts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var printed bytes.Buffer
			if got := run(t.Context(), test.args, &printed); got != test.want || !strings.Contains(printed.String(), test.text) {
				t.Errorf("run = %d and %q, want %d and %q", got, printed.String(), test.want, test.text)
			}
		})
	}
}

func TestChooseImages(t *testing.T) {
	planned := map[string][]string{"slurmd": {"24.11", "26.05"}, "slurm-agent": {"0.1.0"}}
	for _, test := range []struct {
		name, list string
		want       []string
	}{
		{"all", "", []string{"slurm-agent:0.1.0", "slurmd:24.11", "slurmd:26.05"}},
		{"one image in all tags", "slurmd", []string{"slurmd:24.11", "slurmd:26.05"}},
		{"one tag", "slurmd:26.05,slurm-agent", []string{"slurmd:26.05", "slurm-agent:0.1.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := chooseImages(planned, test.list); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("chooseImages = %v, %v, want %v", got, err, test.want)
			}
		})
	}
	if _, err := chooseImages(planned, "slurm"); err == nil || !strings.Contains(err.Error(), "slurmd:26.05") {
		t.Errorf("chooseImages = %v, want an error with the images", err)
	}
}

func TestEmptyDistRemovesOnlyReleases(t *testing.T) {
	dist := t.TempDir()
	r := &release{options: options{dist: dist}, source: source.Source{Version: "0.1.0"}}
	if err := os.WriteFile(filepath.Join(dist, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.emptyDist(); err == nil || !strings.Contains(err.Error(), "is not a release") {
		t.Fatalf("emptyDist = %v, want a refusal", err)
	}
	r.dist = filepath.Join(dist, "new")
	for range 2 {
		if err := r.emptyDist(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dist, "old.deb"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.emptyDist(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.dist, "old.deb")); !os.IsNotExist(err) {
		t.Errorf("a file of the previous release is still there: %v", err)
	}
}

// The real notes and charts of the repository.
func TestNotesAndCharts(t *testing.T) {
	dist := t.TempDir()
	r := &release{
		options: options{root: "../..", dist: dist}, source: source.Source{Version: "0.1.0", Time: time.Unix(0, 0)},
		progress: newProgress(io.Discard, time.Now),
	}
	if err := r.writeNotes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.makeCharts(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"NOTES.md", "slurm-stack-0.1.0.tgz", "oci/charts/slurm/0.1.0/index.json", "slurm-0.1.0.tgz.cdx.json"} {
		if info, err := os.Stat(filepath.Join(dist, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is missing or empty: %v", name, err)
		}
	}
}

func TestWhatIsIncompleteIsNotPushed(t *testing.T) {
	complete := options{steps: allSteps, architectures: everyArchitecture}
	for _, tc := range []struct {
		name   string
		change func(r *release)
		want   string
	}{
		{"everything", func(*release) {}, ""},
		{"files that nobody has", func(r *release) { r.source.Modified = true }, "files differ from the commit"},
		{"charts without images", func(r *release) { r.steps = []string{"charts"} }, "it has only charts"},
		{"some images", func(r *release) { r.images = "slurmd:26.05" }, "it was made with --images slurmd:26.05"},
		{"one architecture", func(r *release) { r.architectures = "amd64" }, "it was made with --arch amd64"},
		{"one system", func(r *release) { r.systems = "linux" }, "it was made with --os linux"},
		{"packages of a mirror", func(r *release) { r.snapshotIsMissing = true }, "not the pinned ones"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &release{options: complete, progress: newProgress(io.Discard, time.Now)}
			r.dist = t.TempDir()
			tc.change(r)
			if reasons := r.whyIncomplete(); len(reasons) > 0 {
				if err := os.WriteFile(filepath.Join(r.dist, incompleteFile), []byte(strings.Join(reasons, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			later := &release{options: options{dist: r.dist, existing: true}}
			err := later.checkComplete()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
			if later.incomplete = true; later.checkComplete() != nil {
				t.Error("--incomplete pushes nothing")
			}
		})
	}
}

func TestImagesArePushedBeforeCharts(t *testing.T) {
	var got []string
	for _, a := range chartsLast([]publish.Artifact{{Repository: "charts/slurm"}, {Repository: "charts/slurm-stack"}, {Repository: "login"},
		{Repository: "slurmd"}}) {
		got = append(got, a.Repository)
	}
	if want := "login slurmd charts/slurm charts/slurm-stack"; strings.Join(got, " ") != want {
		t.Errorf("the order is %v, want %s", got, want)
	}
}

func TestADamagedReleaseIsNotPushed(t *testing.T) {
	dist := t.TempDir()
	if err := os.WriteFile(filepath.Join(dist, "a.deb"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checksums.Write(dist); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []bool{false, true} {
		if damaged {
			if err := os.WriteFile(filepath.Join(dist, "a.deb"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var printed bytes.Buffer
		status := run(t.Context(), []string{"--existing", "--dist", dist}, &printed)
		if (status != 0) != damaged || damaged && !strings.Contains(printed.String(), "is not as it was made") {
			t.Errorf("damaged %t: run = %d, %s", damaged, status, printed.String())
		}
	}
}
