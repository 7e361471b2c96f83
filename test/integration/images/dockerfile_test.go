package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../../"

// stage is one FROM of a Dockerfile with the instructions that follow it.
type stage struct {
	name, base string
	lines      []string
}

// readStages reads a Dockerfile. It joins continued lines.
func readStages(t *testing.T, file string) []stage {
	t.Helper()
	text := strings.ReplaceAll(readFile(t, file), "\\\n", " ")
	var out []stage
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == "FROM" && len(words) == 4 && words[2] == "AS":
			out = append(out, stage{name: words[3], base: words[1]})
		case words[0] == "FROM":
			out = append(out, stage{base: words[1]})
		case len(out) > 0:
			out[len(out)-1].lines = append(out[len(out)-1].lines, strings.Join(words, " "))
		}
	}
	return out
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serverPrograms returns the programs that run in pods: all except the kubectl plugin and the demo.
func serverPrograms(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		if name := filepath.Base(filepath.Dir(file)); strings.HasPrefix(name, "slurm-") {
			out = append(out, name)
		}
	}
	return out
}

func TestEveryServerHasAnImage(t *testing.T) {
	var got []string
	for _, s := range readStages(t, "Dockerfile") {
		if s.base != "base" {
			continue
		}
		got = append(got, s.name)
		for _, want := range []string{
			"COPY --from=build /src/bin/" + s.name + " /" + s.name,
			`ENTRYPOINT ["/` + s.name + `"]`,
		} {
			if !slices.Contains(s.lines, want) {
				t.Errorf("%s lacks the line %s", s.name, want)
			}
		}
	}
	if diff := cmp.Diff(serverPrograms(t), got); diff != "" {
		t.Errorf("images (-programs +targets):\n%s", diff)
	}
}

func TestImagesContainNothingElse(t *testing.T) {
	for _, s := range readStages(t, "Dockerfile") {
		if s.name != "base" {
			continue
		}
		if s.base != "scratch" || !slices.Contains(s.lines, "USER 65532:65532") {
			t.Errorf("the stage base is from %s with %q", s.base, s.lines)
		}
		return
	}
	t.Error("the stage base is missing")
}

// TestStagesHaveKnownBases checks that each stage is based on an earlier stage, on scratch, or on
// an image with a version.
func TestStagesHaveKnownBases(t *testing.T) {
	for _, file := range []string{"Dockerfile", "images/Dockerfile"} {
		var above []string
		for _, s := range readStages(t, file) {
			isStage := slices.Contains(above, s.base) || s.base == "scratch"
			if versioned := regexp.MustCompile(`^[a-z]+:[^ ]*(\d|\$\{SUITE\})`).MatchString(s.base); !isStage &&
				!versioned {
				t.Errorf("%s: FROM %s has no version", file, s.base)
			}
			for _, line := range s.lines {
				if from := regexp.MustCompile(`^COPY --from=(\S+)`).FindStringSubmatch(line); from != nil &&
					!slices.Contains(above, from[1]) {
					t.Errorf("%s: %q copies from a stage that does not precede it", file, line)
				}
			}
			above = append(above, s.name)
		}
	}
}

// TestTheBuilderIsNewEnough compares the Go version of the build image with the one in go.mod.
func TestTheBuilderIsNewEnough(t *testing.T) {
	wanted := regexp.MustCompile(`(?m)^go 1\.(\d+)`).FindStringSubmatch(readFile(t, "go.mod"))
	builder := regexp.MustCompile(`(?m)^FROM golang:1\.(\d+)\.\d+-\S+ AS build$`).FindStringSubmatch(
		readFile(t, "Dockerfile"))
	if wanted == nil || builder == nil || builder[1] != wanted[1] {
		t.Errorf("go.mod has Go %q, the Dockerfile %q", wanted, builder)
	}
}

// TestTheBuilderSeesThePrograms checks that .dockerignore lets in the packages that the programs
// need.
func TestTheBuilderSeesThePrograms(t *testing.T) {
	var included []string
	for line := range strings.Lines(readFile(t, ".dockerignore")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			included = append(included, name)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "Makefile"} {
		if !slices.Contains(included, name) {
			t.Errorf(".dockerignore excludes %s", name)
		}
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}",
		"./cmd/...")
	cmd.Dir = root
	packages, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(packages)) {
		folder := strings.TrimPrefix(name, "github.com/slurmtide/slurmtide/")
		if !slices.ContainsFunc(included, func(in string) bool { return strings.HasPrefix(folder+"/", in+"/") }) {
			t.Errorf(".dockerignore excludes %s", folder)
		}
	}
}
