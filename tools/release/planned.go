package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// slurmReleases are the releases of Slurm of which images are made.
var slurmReleases = []string{"24.11", "26.05"}

// Planned returns what a release of the repository in folder root contains.
func Planned(root string) (Contents, error) {
	out := Contents{Images: map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(root, "charts", "*", "Chart.yaml"))
	if err != nil {
		return out, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return out, err
		}
		var chart struct{ Name, Version string }
		if err := yaml.Unmarshal(text, &chart); err != nil {
			return out, fmt.Errorf("%s: %w", file, err)
		}
		out.Charts = append(out.Charts, chart.Name)
		out.Version = chart.Version
	}
	programs, err := imageNames(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return out, err
	}
	for _, name := range programs {
		out.Images[name] = []string{out.Version}
	}
	daemons, err := imageNames(filepath.Join(root, "images", "Dockerfile"))
	if err != nil {
		return out, err
	}
	for _, name := range daemons {
		out.Images[name] = slices.Clone(slurmReleases)
	}
	return out, nil
}

var stage = regexp.MustCompile(`(?m)^FROM base AS (\S+)$`)

// imageNames returns the names of the images in a Dockerfile.
func imageNames(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, match := range stage.FindAllSubmatch(text, -1) {
		out = append(out, string(match[1]))
	}
	return out, nil
}

// ReadReferences returns the references in all charts, also with default values, examples and pages of a repository.
func ReadReferences(ctx context.Context, root string) ([]Reference, error) {
	list := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "*.md", "charts", "docs/examples",
		"test/integration/charts/testdata/*/minimal.golden.yaml")
	files, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files: %w", err)
	}
	var out []Reference
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		path := filepath.Join(root, file)
		if info, err := os.Stat(path); err != nil || info.IsDir() || file == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(text, 0) < 0 {
			out = append(out, FindReferences(file, string(text))...)
		}
	}
	return out, nil
}
