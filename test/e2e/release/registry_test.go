//go:build e2e

package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// registry is a registry of the distribution project that serves the release.
type registry struct{ program, data, address string }

// startRegistry starts a registry, and pushes the release to its folder slurmtide.
func startRegistry(t *testing.T) registry {
	t.Helper()
	release := dist(t)
	r := registry{compile(t, "registry", "github.com/distribution/distribution/v3/cmd/registry"), t.TempDir(), process.FreeAddress(t)}
	process.Start(t, r.program, "serve", r.writeConfig(t, r.address))
	process.Await(t, func() error { return process.CheckOK("http://" + r.address + "/v2/") })
	mustRun(t, "make", "-C", moduleRoot(t), "release",
		"ARGS=--existing --incomplete --plain-http --dist "+release+" --push "+r.address+"/slurmtide")
	return r
}

// writeConfig writes the registry's configuration for an address.
func (r registry) writeConfig(t *testing.T, address string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q, draintimeout: 1s}\n",
		r.data, address)
	must(t, os.WriteFile(config, []byte(text), 0o644))
	return config
}

// TestChartsFromARegistry pulls each chart with Helm, and each image that slurm-stack renders, by the digest.
func TestChartsFromARegistry(t *testing.T) {
	r := startRegistry(t)
	helm := helmProgram(t)
	version := releaseVersion(t)
	archives, err := filepath.Glob(filepath.Join(dist(t), "slurm*.tgz"))
	must(t, err)
	folder := t.TempDir()
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), "-"+version+".tgz")
		mustRun(t, helm, "pull", "oci://"+r.address+"/slurmtide/charts/"+name, "--version", version, "--plain-http", "--destination", folder)
		want, err := os.ReadFile(archive)
		must(t, err)
		got, err := os.ReadFile(filepath.Join(folder, filepath.Base(archive)))
		must(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("the registry's chart %s differs from the release's", name)
		}
	}
	text := mustRun(t, helm, "template", "slurm", "oci://"+r.address+"/slurmtide/charts/slurm-stack", "--version", version, "--plain-http",
		"--namespace", "slurm", "--kube-version", "1.37.0")
	checkImages(t, r.address, text)
}

// checkImages checks that each image of ours that a chart renders has a digest, which the registry at an address serves.
func checkImages(t *testing.T, address, rendered string) {
	t.Helper()
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(rendered, func(c rune) bool { return strings.ContainsRune(" \n\"'=", c) }) {
		name, ok := strings.CutPrefix(word, "ghcr.io/slurmtide/")
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		tagged, digest, ok := strings.Cut(name, "@")
		if !ok {
			t.Errorf("the image %s has no digest", word)
			continue
		}
		repository, _, _ := strings.Cut(tagged, ":")
		out := mustRun(t, "curl", "--silent", "--show-error", "--fail", "--head", "--header",
			"Accept: application/vnd.oci.image.index.v1+json", "http://"+address+"/v2/slurmtide/"+repository+"/manifests/"+digest)
		if !strings.Contains(out, digest) {
			t.Errorf("the registry answers %q for %s", out, name)
		}
	}
	// The operator, the agent, the adapter, slurmctld, slurmrestd, slurmdbd, login and slurmd.
	if len(seen) != 8 {
		t.Errorf("slurm-stack renders %d images of the release, want 8: %v", len(seen), seen)
	}
}

// helmProgram returns the path of Helm, which the first call builds.
func helmProgram(t *testing.T) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), filepath.Join(moduleRoot(t), "hack", "kube", "build"), "helm")
	var log strings.Builder
	build.Stderr = &log
	out, err := build.Output()
	if err != nil {
		t.Fatalf("building Helm: %v\n%s", err, log.String())
	}
	return filepath.Join(strings.TrimSpace(string(out)), "helm")
}
