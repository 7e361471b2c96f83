// Package programs compiles the programs with GoReleaser, and packs them: archives, packages of Debian and of RPM, and the
// manifest for krew.
package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/hack/release/internal/source"
)

// Artifact is a file that GoReleaser wrote.
type Artifact struct {
	Name string `json:"name"`
	// Path is relative to the root of the repository, or absolute.
	Path string `json:"path"`
	OS   string `json:"goos"`
	Arch string `json:"goarch"`
	Kind string `json:"type"`
	// Extra has the id of the program.
	Extra struct{ ID string } `json:"extra"`
}

// Kinds of artifacts.
const (
	binary   = "Binary"
	archive  = "Archive"
	pack     = "Linux Package"
	manifest = "Krew Plugin Manifest"
)

// IsProgram reports whether the artifact is a program as such, from which all others are made.
func (a Artifact) IsProgram() bool { return a.Kind == binary }

// IsReleased reports whether the artifact is a file of the release.
func (a Artifact) IsReleased() bool { return a.Kind == archive || a.Kind == pack || a.Kind == manifest }

// IsArchive reports whether the artifact contains a program.
func (a Artifact) IsArchive() bool { return a.Kind == archive || a.Kind == pack }

// Builder runs GoReleaser.
type Builder struct {
	Source source.Source
	// Systems are the operating systems to compile for; all that goreleaser.yaml names without them.
	Systems []string
	// Cache is the folder of GoReleaser and of the programs that it compiles.
	Cache string
	// Log receives what the compiler and GoReleaser print.
	Log io.Writer
	// Say prints a progress message.
	Say func(format string, args ...any)
}

// Run makes all artifacts.
func (b Builder) Run(ctx context.Context) ([]Artifact, error) {
	goreleaser, err := b.compileGoreleaser(ctx)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(b.Cache, "programs")
	config, err := b.writeConfig(work)
	if err != nil {
		return nil, err
	}
	b.Say("compiling and packing the programs of %s for its platforms", b.Source.Tag())
	cmd := b.command(ctx, b.Source.Root, goreleaser, "release", "--snapshot", "--clean", "--config", config,
		"--skip=publish,announce,sign,validate")
	cmd.Env = append(cmd.Environ(), environment(b.Source)...)
	if err := b.run(cmd); err != nil {
		return nil, fmt.Errorf("goreleaser: %w", err)
	}
	return readArtifacts(b.Source.Root, work)
}

// environment returns the variables that goreleaser.yaml uses. GoReleaser knows neither the commit nor its time without a tag.
func environment(from source.Source) []string {
	return []string{
		"RELEASE_VERSION=" + from.Version,
		fmt.Sprintf("RELEASE_COMMIT=%.12s", from.Commit),
		"RELEASE_DATE=" + from.Time.UTC().Format(time.RFC3339),
		fmt.Sprintf("RELEASE_TIMESTAMP=%d", from.Time.Unix()),
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", from.Time.Unix()),
		"GORELEASER_CURRENT_TAG=" + from.Tag(),
		"GORELEASER_PREVIOUS_TAG=" + from.Tag(),
	}
}

// writeConfig returns the path of GoReleaser's configuration for the wanted systems, with the folder for its results.
func (b Builder) writeConfig(work string) (string, error) {
	file := filepath.Join(b.Source.Root, "hack", "release", "goreleaser.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if text, err = complete(text, work, b.Systems); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	written := filepath.Join(b.Cache, "goreleaser.yaml")
	return written, os.WriteFile(written, text, 0o644)
}

// complete sets the folder of the results in GoReleaser's configuration, and leaves the wanted systems, if any, in each build.
func complete(config []byte, work string, wanted []string) ([]byte, error) {
	var all map[string]any
	if err := yaml.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	all["dist"] = work
	builds, _ := all["builds"].([]any)
	for _, build := range builds {
		fields, _ := build.(map[string]any)
		systems, _ := fields["goos"].([]any)
		fields["goos"] = slices.DeleteFunc(systems, func(system any) bool {
			name, _ := system.(string)
			return len(wanted) > 0 && !slices.Contains(wanted, name)
		})
	}
	return yaml.Marshal(all)
}

// compileGoreleaser returns the path of GoReleaser in the cache, in the version of its go.mod.
func (b Builder) compileGoreleaser(ctx context.Context) (string, error) {
	program := filepath.Join(b.Cache, "goreleaser")
	if _, err := os.Stat(program); err != nil {
		b.Say("compiling GoReleaser (once, some ten minutes of two processors)")
	}
	cmd := b.command(ctx, filepath.Join(b.Source.Root, "hack", "release", "goreleaser"),
		"go", "build", "-ldflags=-s -w", "-o", program, "github.com/goreleaser/goreleaser/v2")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if err := b.run(cmd); err != nil {
		return "", fmt.Errorf("compiling GoReleaser: %w", err)
	}
	return program, nil
}

// command returns a command that ends with Ctrl-C as it would at the prompt.
func (b Builder) command(ctx context.Context, folder, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = folder
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a command. The error contains the end of its output.
func (b Builder) run(cmd *exec.Cmd) error {
	var printed bytes.Buffer
	cmd.Stdout = io.MultiWriter(b.Log, &printed)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w\n%s", failed, lastLines(printed.String(), 20))
	}
	return err
}

// lastLines returns the last lines of a text.
func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// readArtifacts reads GoReleaser's list of artifacts, and makes their paths absolute.
func readArtifacts(root, work string) ([]Artifact, error) {
	text, err := os.ReadFile(filepath.Join(work, "artifacts.json"))
	if err != nil {
		return nil, err
	}
	var out []Artifact
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("artifacts.json: %w", err)
	}
	for i := range out {
		if !filepath.IsAbs(out[i].Path) {
			out[i].Path = filepath.Join(root, out[i].Path)
		}
	}
	return out, nil
}
