package programs

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/hack/release/internal/source"
)

func TestComplete(t *testing.T) {
	config := `version: 2
builds:
  - &a {id: a, goos: [linux, darwin], goarch: [amd64]}
  - {<<: *a, id: b, goos: [linux, darwin, windows]}
`
	text, err := complete([]byte(config), "/work", []string{"linux", "windows"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Dist   string
		Builds []struct {
			ID           string
			Goos, Goarch []string
		}
	}
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Dist != "/work" {
		t.Errorf("the results are in %q, want /work", got.Dist)
	}
	if want := []string{"linux"}; !reflect.DeepEqual(got.Builds[0].Goos, want) {
		t.Errorf("a is compiled for %v, want %v", got.Builds[0].Goos, want)
	}
	if want := []string{"linux", "windows"}; !reflect.DeepEqual(got.Builds[1].Goos, want) {
		t.Errorf("b is compiled for %v, want %v", got.Builds[1].Goos, want)
	}
	if got.Builds[1].Goarch[0] != "amd64" {
		t.Errorf("b has lost what it repeats: %+v", got.Builds[1])
	}
}

func TestReadArtifacts(t *testing.T) {
	work := t.TempDir()
	record := `[{"name":"a","path":"work/a","goos":"linux","goarch":"arm64","type":"Binary","extra":{"ID":"a"}},
{"name":"a.deb","path":"/abs/a.deb","type":"Linux Package","extra":{"ID":"a"}},
{"name":"metadata.json","path":"m","type":"Metadata"}]`
	if err := os.WriteFile(filepath.Join(work, "artifacts.json"), []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := readArtifacts("/root", work)
	if err != nil || len(got) != 3 {
		t.Fatalf("readArtifacts = %+v, %v", got, err)
	}
	if a := got[0]; !a.IsProgram() || a.IsReleased() || a.Path != "/root/work/a" || a.Arch != "arm64" || a.Extra.ID != "a" {
		t.Errorf("the program is %+v", a)
	}
	if deb := got[1]; !deb.IsReleased() || !deb.IsArchive() || deb.Path != "/abs/a.deb" {
		t.Errorf("the package is %+v", deb)
	}
	if got[2].IsReleased() {
		t.Error("the release has GoReleaser's record with times")
	}
}

// The configuration of the repository takes everything from the environment that this package sets.
func TestTheConfigurationUsesTheEnvironment(t *testing.T) {
	text, err := os.ReadFile("../../goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, variable := range environment(source.Source{}) {
		name, _, _ := strings.Cut(variable, "=")
		set[name] = true
	}
	for _, match := range regexp.MustCompile(`\.Env\.(\w+)`).FindAllStringSubmatch(string(text), -1) {
		if !set[match[1]] {
			t.Errorf("goreleaser.yaml uses %s, which is not set", match[1])
		}
	}
	if match := regexp.MustCompile(`\{\{ *\.(Commit|ShortCommit|Tag|Date)\w*`).FindString(string(text)); match != "" {
		t.Errorf("goreleaser.yaml uses %s, which GoReleaser does not know without a tag", match)
	}
}
