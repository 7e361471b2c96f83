//go:build e2e

package charts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/tools/docs"
)

// standInScript records its arguments. As helm, it renders the chart that it should install.
const standInScript = `#!/bin/bash
name=${0##*/}
[[ $name != sudo ]] || exec "$@"
printf '%%s %%s\n' "$name" "$*" >>"%[1]s"
[[ $name != docker || $1 != save ]] || exit 0
[[ $name != k3s ]] || cat >/dev/null
[[ $name != helm || $1 != upgrade ]] || { set -o pipefail; %[2]s template "${@:3}" | grep -oE 'localhost/[a-z-]+:[a-z0-9.]+' >>"%[3]s"; }
`

// TestKindPage runs the commands of docs/kind.md with stand-ins for docker, kind, k3s, minikube and kubectl. The images of
// the rendered release must be those that were built and loaded.
func TestKindPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kind.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docs.ParseBlocks("docs/kind.md", string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 6 {
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	byMake, byHand := runWithStandIns(t, blocks[0].Script), runWithStandIns(t, blocks[1].Script)
	for name, r := range map[string]standInRun{"make kind": byMake, "by hand": byHand} {
		if len(r.built) != 8 {
			t.Errorf("%s builds %q, want eight images", name, r.built)
		}
		if diff := cmp.Diff(r.built, r.loaded); diff != "" {
			t.Errorf("%s loads other images than it builds (-built +loaded):\n%s", name, diff)
		}
		if diff := cmp.Diff(r.built, r.installed); diff != "" {
			t.Errorf("%s installs other images than it builds (-built +installed):\n%s", name, diff)
		}
	}
	for _, b := range blocks[2:] {
		r := runWithStandIns(t, b.Script)
		t.Logf("%s:\n%s", b, strings.Join(r.commands, "\n"))
		if len(r.loaded) > 0 {
			if diff := cmp.Diff(byHand.built, r.loaded); diff != "" {
				t.Errorf("%s loads other images (-built +loaded):\n%s", b, diff)
			}
		}
	}
	checkTargets(t, byMake.commands)
}

// checkTargets requires that each target of a build is one of its Dockerfile.
func checkTargets(t *testing.T, commands []string) {
	t.Helper()
	for _, c := range commands {
		m := regexp.MustCompile(`^docker build --target (\S+) .* (\S+)$`).FindStringSubmatch(c)
		if m == nil {
			continue
		}
		file, err := os.ReadFile(filepath.Join("../../..", m[2], "Dockerfile"))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^FROM \S+ AS ` + m[1] + `$`).Match(file) {
			t.Errorf("%s/Dockerfile has no target %s", m[2], m[1])
		}
	}
}

type standInRun struct {
	commands                 []string
	built, loaded, installed []string // images of ours, sorted
}

var ourImage = regexp.MustCompile(`localhost/[a-z-]+:[a-z0-9.]+`)

func runWithStandIns(t *testing.T, script string) standInRun {
	t.Helper()
	helm, err := helmProgram()
	if err != nil {
		t.Fatal(err)
	}
	if helm, err = filepath.Abs(helm); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, images := filepath.Join(dir, "log"), filepath.Join(dir, "images")
	for _, name := range []string{"docker", "kind", "kubectl", "helm", "minikube", "k3s", "sudo"} {
		program := fmt.Sprintf(standInScript, log, helm, images)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	var r standInRun
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	r.commands = strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, c := range r.commands {
		switch found := ourImage.FindAllString(c, -1); {
		case strings.HasPrefix(c, "docker build"):
			r.built = append(r.built, found...)
		case strings.Contains(c, " load ") || strings.HasPrefix(c, "docker save"):
			r.loaded = append(r.loaded, found...)
		}
	}
	if text, err := os.ReadFile(images); err == nil {
		r.installed = ourImage.FindAllString(string(text), -1)
	}
	for _, list := range []*[]string{&r.built, &r.loaded, &r.installed} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}
