package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/hack/release/internal/charts"
	"github.com/slurmtide/slurmtide/hack/release/internal/checksums"
	"github.com/slurmtide/slurmtide/hack/release/internal/notes"
	"github.com/slurmtide/slurmtide/hack/release/internal/programs"
	"github.com/slurmtide/slurmtide/hack/release/internal/publish"
	"github.com/slurmtide/slurmtide/hack/release/internal/sbom"
	"github.com/slurmtide/slurmtide/hack/release/internal/source"
	contents "github.com/slurmtide/slurmtide/tools/release"
)

// release is a release in the making.
type release struct {
	options
	progress
	source source.Source
	// log receives what other programs print.
	log io.Writer
	// programs are what GoReleaser made.
	programs []programs.Artifact
	// digests are the digests of the images.
	digests []charts.Image
	// snapshotIsMissing is whether Debian's archive of all states cannot be reached.
	snapshotIsMissing bool
}

// makeRelease runs the chosen steps in their order, and what ends each run.
func makeRelease(ctx context.Context, o options, p progress) error {
	if o.existing {
		r := &release{options: o, progress: p}
		return r.publishExisting(ctx)
	}
	from, err := source.Read(ctx, o.root)
	if err != nil {
		return err
	}
	r := &release{options: o, progress: p, source: from, log: io.Discard}
	if o.verbose {
		r.log = p.out
	}
	r.say("%s from commit %.12s of %s in %s", from.Tag(), from.Commit, from.Time.Format("2006-01-02"), o.dist)
	if from.Modified && o.push != "" {
		return fmt.Errorf("files differ from the commit: commit them before you push a release")
	} else if from.Modified {
		r.say("warning: files differ from the commit, so nobody can repeat this release")
	}
	if err := r.emptyDist(); err != nil {
		return err
	}
	for _, step := range r.chosenSteps() {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return r.finish(ctx)
}

type step struct {
	name string
	run  func(context.Context) error
}

// chosenSteps returns the steps to run. Images need programs.
func (r *release) chosenSteps() []step {
	all := []step{
		{"programs", r.makePrograms},
		{"images", r.makeImages},
		{"charts", r.makeCharts},
		{"notes", r.writeNotes},
	}
	return slices.DeleteFunc(all, func(s step) bool { return !slices.Contains(r.steps, s.name) })
}

// finish checks a release of all steps, writes the checksums, and publishes.
func (r *release) finish(ctx context.Context) error {
	if len(r.steps) == len(allSteps) && r.images == "" {
		if err := r.checkReferences(ctx); err != nil {
			return err
		}
	}
	if reasons := r.whyIncomplete(); len(reasons) > 0 {
		if err := os.WriteFile(filepath.Join(r.dist, incompleteFile), []byte(strings.Join(reasons, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	if err := checksums.Write(r.dist); err != nil {
		return err
	}
	return r.publish(ctx)
}

// incompleteFile lists why a release is not pushed. It is in dist/, since the release may be pushed later, with --existing.
const incompleteFile = "INCOMPLETE"

// whyIncomplete returns the reasons why the release must not be pushed.
func (r *release) whyIncomplete() (reasons []string) {
	if r.source.Modified {
		reasons = append(reasons, "files differ from the commit")
	}
	if len(r.steps) < len(allSteps) {
		reasons = append(reasons, "it has only "+strings.Join(r.steps, ", "))
	}
	for _, limit := range []struct{ flag, value, all string }{
		{"--images", r.images, ""}, {"--os", r.systems, ""}, {"--arch", r.architectures, everyArchitecture},
	} {
		if limit.value != limit.all {
			reasons = append(reasons, "it was made with "+limit.flag+" "+limit.value)
		}
	}
	if r.snapshotIsMissing {
		reasons = append(reasons, "its images have the packages of a mirror, not the pinned ones")
	}
	return reasons
}

// checkComplete returns an error if the release in dist/ must not be pushed.
func (r *release) checkComplete() error {
	text, err := os.ReadFile(filepath.Join(r.dist, incompleteFile))
	if os.IsNotExist(err) || err == nil && r.incomplete {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is not pushed without --incomplete: %s", r.dist, strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), "; "))
}

// publishExisting publishes the release that dist/ has, if its files are still the ones of its checksums.
func (r *release) publishExisting(ctx context.Context) error {
	switch err := checksums.Check(r.dist); {
	case os.IsNotExist(err):
		return fmt.Errorf("%s has no release: %w", r.dist, err)
	case err != nil:
		return fmt.Errorf("%s is not as it was made: %w", r.dist, err)
	}
	return r.publish(ctx)
}

// publish signs and pushes the release in dist/, if there are a key and a registry.
func (r *release) publish(ctx context.Context) error {
	sums := filepath.Join(r.dist, checksums.File)
	if r.push != "" {
		if err := r.checkComplete(); err != nil {
			return err
		}
	}
	signer := publish.Signer{Key: r.key}
	if r.key != "" {
		if err := signer.SignFile(ctx, sums); err != nil {
			return err
		}
	}
	if r.push != "" {
		if err := r.pushArtifacts(ctx, signer); err != nil {
			return err
		}
	}
	r.say("done: %s", sums)
	return nil
}

// marker is a file that only releases have.
const marker = "VERSION"

// emptyDist removes the previous release. It refuses a folder with other files.
func (r *release) emptyDist() error {
	entries, err := os.ReadDir(r.dist)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(r.dist, marker)); err != nil {
			return fmt.Errorf("%s has files and is not a release: remove it, or choose another folder with --dist", r.dist)
		}
	}
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dist, marker), []byte(r.source.Version+"\n"), 0o644)
}

// makePrograms copies what GoReleaser made, and writes the bill of each archive and package.
func (r *release) makePrograms(ctx context.Context) error {
	builder := programs.Builder{Source: r.source, Systems: listOf(r.systems), Cache: r.cache, Log: r.log, Say: r.say}
	var err error
	if r.programs, err = builder.Run(ctx); err != nil {
		return err
	}
	count := 0
	for _, artifact := range r.programs {
		if !artifact.IsReleased() {
			continue
		}
		count++
		if err := copyFile(artifact.Path, filepath.Join(r.dist, artifact.Name)); err != nil {
			return err
		}
		if artifact.IsArchive() {
			if err := r.writeBill(artifact); err != nil {
				return err
			}
		}
	}
	r.say("%d archives, packages and manifests", count)
	return nil
}

// listOf splits a list with commas; an empty text is an empty list.
func listOf(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' })
}

// writeBill writes the bill of an archive or a package of one program.
func (r *release) writeBill(artifact programs.Artifact) error {
	path, err := r.programPath(artifact.Extra.ID, artifact.OS, artifact.Arch)
	if err != nil {
		return err
	}
	bill, err := sbom.OfProgram(path, r.source.Tag())
	if err != nil {
		return err
	}
	sum, err := checksums.Of(artifact.Path)
	if err != nil {
		return err
	}
	subject := sbom.Subject{Name: artifact.Name, Version: r.source.Version, SHA256: sum, Kind: sbom.File}
	return bill.Write(r.dist, artifact.Name, subject, r.source.Time)
}

func (r *release) writeNotes(context.Context) error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text, err := notes.Cut(string(changelog), r.source.Version)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dist, "NOTES.md"), []byte(text), 0o644)
}

// checkReferences returns an error that lists what the repository names and dist/ lacks.
func (r *release) checkReferences(ctx context.Context) error {
	layouts, err := publish.Find(filepath.Join(r.dist, "oci"))
	if err != nil {
		return err
	}
	has := contents.Contents{Version: r.source.Version, Images: map[string][]string{}}
	for _, layout := range layouts {
		if chart, ok := strings.CutPrefix(layout.Repository, "charts/"); ok {
			has.Charts = append(has.Charts, chart)
		} else {
			has.Images[layout.Repository] = append(has.Images[layout.Repository], layout.Tag)
		}
	}
	references, err := contents.ReadReferences(ctx, r.root)
	if err != nil {
		return err
	}
	missing := has.Missing(references)
	if len(missing) == 0 {
		r.say("the release has all %d images, charts and versions that charts, examples and pages name", len(references))
		return nil
	}
	var lines []string
	for _, reference := range missing {
		lines = append(lines, "  "+reference.String())
	}
	return fmt.Errorf("the release lacks what the repository names:\n%s", strings.Join(lines, "\n"))
}

// pushArtifacts pushes images and charts, and signs them if there is a key.
func (r *release) pushArtifacts(ctx context.Context, signer publish.Signer) error {
	layouts, err := publish.Find(filepath.Join(r.dist, "oci"))
	if err != nil {
		return err
	}
	to := publish.Registry{Name: r.push, PlainHTTP: r.plainHTTP}
	for _, layout := range chartsLast(layouts) {
		address, err := to.Push(ctx, layout)
		if err != nil {
			return err
		}
		r.say("pushed %s:%s", layout.Repository, layout.Tag)
		if signer.Key != "" {
			if err := signer.SignArtifact(ctx, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// chartsLast returns images before the charts that name them: if pushing ends early, no chart names a missing image.
func chartsLast(layouts []publish.Artifact) []publish.Artifact {
	isChart := func(a publish.Artifact) int {
		if strings.HasPrefix(a.Repository, "charts/") {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(layouts), func(a, b publish.Artifact) int { return isChart(a) - isChart(b) })
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
