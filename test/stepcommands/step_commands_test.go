// Package stepcommands checks that nothing in the tree lists the steps of a worker.
package stepcommands

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// moduleRoot is the root of the module.
const moduleRoot = "../.."

// searchedFolders are searched recursively.
var searchedFolders = []string{"charts", "cmd", "docs", "hack", "images", "operator", "test"}

// allowedFiles may name the commands: the page that warns of them, the list of kubectl slurm
// doctor, and tests.
var allowedFiles = []string{
	"cmd/kubectl-slurm/internal/doctor/doctor_test.go",
	"cmd/kubectl-slurm/internal/doctor/probes.go",
	"cmd/kubectl-slurm/internal/doctor/probes_test.go",
	"cmd/kubectl-slurm/internal/doctor/worker_probes_test.go",
	"docs/nodesets.md",
	"operator/nodeset/render/template_test.go",
	"test/integration/plugin/faults_test.go",
	"test/stepcommands/step_commands_test.go",
}

// stepCommand matches the commands as written in a shell, in a YAML or JSON list, as Go arguments,
// or in a sentence, also across line breaks.
var stepCommand = regexp.MustCompile(
	"(?i)\\b(sho|show)[\\s\"'`,#*/\\\\\\[\\](){}-]+slurmd\\b|\\blistpids\\b|\\bsstat\\b")

// TestNoFileListsSteps finds probes, hooks, programs, tests and pages that list the steps of a
// worker. slurmd then connects to the socket of every step, takes a batch step that does not listen
// yet for a stray one and deletes its script, so the job fails.
func TestNoFileListsSteps(t *testing.T) {
	naming := map[string]bool{}
	for path, text := range textFiles(t) {
		for _, found := range stepCommand.FindAllStringIndex(text, -1) {
			naming[path] = true
			if !slices.Contains(allowedFiles, path) {
				line := 1 + strings.Count(text[:found[0]], "\n")
				t.Errorf("%s:%d: %q lists the steps of a worker, which makes starting jobs fail: "+
					"ask slurmctld, or connect to slurmd's port", path, line, text[found[0]:found[1]])
			}
		}
	}
	for _, path := range allowedFiles {
		if !naming[path] {
			t.Errorf("%s names none of the commands: remove it from allowedFiles", path)
		}
	}
}

// textFiles returns all UTF-8 files by their path from the root of the module.
func textFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, folder := range searchedFolders {
		found := len(out)
		err := filepath.WalkDir(filepath.Join(moduleRoot, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if utf8.Valid(text) {
				out[strings.TrimPrefix(filepath.ToSlash(path), moduleRoot+"/")] = string(text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == found {
			t.Fatalf("%s has no files: the test searches the wrong folder", folder)
		}
	}
	return out
}

func TestEveryWayToListStepsIsFound(t *testing.T) {
	for _, text := range []string{
		"scontrol show slurmd",
		"/usr/bin/scontrol -o show  slurmd | grep -q UP",
		"SCONTROL SHOW SLURMD",
		"scontrol sho slurmd",
		"command: [scontrol, show, slurmd]",
		`exec: {command: ["scontrol", "show", "slurmd"]}`,
		"command:\n  - scontrol\n  - show\n  - slurmd\n",
		"- \"show\"\n- \"slurmd\"",
		`exec.Command("scontrol", "show", "slurmd")`,
		"run(ctx, \"scontrol\",\n\t\"show\",\n\t\"slurmd\")",
		"scontrol show \\\n  slurmd",
		"# scontrol\n# show\n# slurmd",
		"// as `scontrol show\n// slurmd` does",
		"scontrol listpids",
		`["scontrol", "listpids", "7"]`,
		"sstat -a -j 7",
		`exec.Command("sstat")`,
	} {
		if !stepCommand.MatchString(text) {
			t.Errorf("%q does not match", text)
		}
	}
	for _, text := range []string{
		"scontrol show node gpu-0", "scontrol ping", "scontrol show step", "scontrol show slurmdbd",
		"Events show. slurmd begins", "lsstat", "sstats",
	} {
		if found := stepCommand.FindString(text); found != "" {
			t.Errorf("%q in %q matches", found, text)
		}
	}
}
