// Package page runs the commands of a page of the documentation, in the order of the page.
package page

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/tools/docs"
)

// StandIn replaces a text of the page's commands and manifests that is only valid elsewhere, such as the address of a server on the
// internet. Why is the reason, for the reader of the test.
type StandIn struct{ Text, With, Why string }

// blockTimeout is the time limit of a block.
const blockTimeout = 15 * time.Minute

// Page is a page whose blocks of commands a test runs.
type Page struct {
	// Manifests are the blocks of YAML.
	Manifests []string
	// Folder is a copy of the repository, in which the commands run.
	Folder string
	// StandIns apply to all blocks that run from now on.
	StandIns []StandIn

	name   string
	env    []string
	blocks []docs.Block // not run yet
	all    []docs.Block
	begin  time.Time
}

// Open reads a page of the repository and copies the repository. The commands run as the administrator of the cluster. Open fails the test
// if a block of the page does not name this test.
func Open(t *testing.T, kube *realkube.Cluster, name string, standIns ...StandIn) *Page {
	t.Helper()
	root, err := process.FindModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // a page of ours
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &Page{name: name, StandIns: standIns, Folder: filepath.Join(dir, "clone"), begin: time.Now()}
	bin := filepath.Join(dir, "bin")
	p.env = append(kube.CommandEnv(), "PATH="+bin+":"+filepath.Join(kube.Dir, "bin")+":"+os.Getenv("PATH"), "GOBIN="+bin, "CGO_ENABLED=0")
	if p.all, err = docs.ParseBlocks(name, string(text)); err != nil {
		t.Fatal(err)
	}
	p.blocks = slices.Clone(p.all)
	for _, b := range p.all {
		if b.Place != docs.Test || b.Test != t.Name() {
			t.Errorf("%s is run in %q %s, not in this test", b, b.Place, b.Test)
		}
	}
	p.Manifests = manifestsOf(string(text))
	copyRepository(t, root, p.Folder)
	return p
}

// manifestsOf returns the blocks of YAML on a page.
func manifestsOf(text string) (out []string) {
	for _, part := range strings.Split(text, "\n```yaml\n")[1:] {
		manifest, _, _ := strings.Cut(part, "\n```")
		out = append(out, manifest+"\n")
	}
	return out
}

// copyRepository copies the files of the repository that Git tracks or would add.
func copyRepository(t *testing.T, root, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		`git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$1"`, "copy", folder)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copying the repository: %v\n%s", err, out)
	}
}

// Next runs the next block of the page, which must contain the text, and returns its output.
func (p *Page) Next(t *testing.T, text string) string {
	t.Helper()
	return p.Run(t, p.take(t, text))
}

// NextFails runs the next block of the page, which must contain the text, and returns its output. The block must fail.
func (p *Page) NextFails(t *testing.T, text string) string {
	t.Helper()
	b := p.take(t, text)
	out, err := p.execute(t, b)
	if err == nil {
		t.Fatalf("%s does not fail:\n%s\n%s", b, b.Script, out)
	}
	return out
}

// take removes the next block, which must contain the text.
func (p *Page) take(t *testing.T, text string) docs.Block {
	t.Helper()
	if len(p.blocks) == 0 {
		t.Fatalf("%s has no block left for %q", p.name, text)
	}
	b := p.blocks[0]
	p.blocks = p.blocks[1:]
	if !strings.Contains(b.Script, text) {
		t.Fatalf("the next block, %s, does not contain %q:\n%s", b, text, b.Script)
	}
	return b
}

// Run runs a block and returns its output.
func (p *Page) Run(t *testing.T, b docs.Block) string {
	t.Helper()
	out, err := p.execute(t, b)
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", b, err, b.Script, out)
	}
	return out
}

// execute runs a block with the stand-ins.
func (p *Page) execute(t *testing.T, b docs.Block) (string, error) {
	t.Helper()
	script := b.Script
	for _, s := range p.StandIns {
		script = strings.ReplaceAll(script, s.Text, s.With)
	}
	if strings.Contains(script, "https://") {
		t.Fatalf("%s needs the internet and has no stand-in:\n%s", b, script)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), blockTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script) //nolint:gosec // commands of our page
	cmd.Dir, cmd.Env = p.Folder, append(os.Environ(), p.env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s: %.1f s, %v\n%s%s", b, time.Since(begin).Seconds(), err, script, out)
	return string(out), err
}

// Find returns the first block, run or not, that contains the text.
func (p *Page) Find(t *testing.T, text string) docs.Block {
	t.Helper()
	for _, b := range p.all {
		if strings.Contains(b.Script, text) {
			return b
		}
	}
	t.Fatalf("no block contains %q", text)
	return docs.Block{}
}

// Edit replaces texts in a file that the page's commands created or that the page asks its reader to edit.
func (p *Page) Edit(t *testing.T, file string, oldNew ...string) {
	t.Helper()
	path := filepath.Join(p.Folder, file)
	text, err := os.ReadFile(path) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(ReplaceAll(t, string(text), oldNew...)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ReplaceAll replaces texts, each of which must be there.
func ReplaceAll(t *testing.T, text string, oldNew ...string) string {
	t.Helper()
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("there is no %q in\n%s", oldNew[i], text)
		}
		text = strings.ReplaceAll(text, oldNew[i], oldNew[i+1])
	}
	return text
}

// End requires that all blocks were run and all stand-ins were needed, and prints how long the page took.
func (p *Page) End(t *testing.T) {
	t.Helper()
	for _, b := range p.blocks {
		t.Errorf("%s was not run", b)
	}
	for _, s := range p.StandIns {
		if !slices.ContainsFunc(p.all, func(b docs.Block) bool { return strings.Contains(b.Script, s.Text) }) {
			t.Errorf("%s does not contain %q, which has a stand-in", p.name, s.Text)
		}
	}
	t.Logf("%s: %.1f minutes", p.name, time.Since(p.begin).Minutes())
}
