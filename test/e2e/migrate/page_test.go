//go:build e2e

package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/tools/docs"
)

// standIn is a command that takes the place of one that needs the internet.
type standIn struct{ command, with string }

// page is a page of the documentation whose commands are run.
type page struct {
	blocks   []docs.Block
	yaml     []string // its manifests
	standIns []standIn
	folder   string // a copy of the repository, in which the commands run
	env      []string
	begin    time.Time
	name     string
}

// openPage reads a page. It requires that this test runs all its blocks.
func openPage(t *testing.T, e *env, name string, standIns ...standIn) *page {
	t.Helper()
	root, err := process.FindModuleRoot()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(root, name))
	must(t, err)
	p := &page{name: name, standIns: standIns, folder: filepath.Join(e.dir, "clone"), begin: time.Now(), env: e.commandEnv()}
	p.blocks, err = docs.ParseBlocks(name, string(text))
	must(t, err)
	for _, b := range p.blocks {
		if b.Place != docs.Migration {
			t.Errorf("%s is run in %q, not in this test", b, b.Place)
		}
	}
	for _, part := range strings.Split(string(text), "\n```yaml\n")[1:] {
		manifest, _, _ := strings.Cut(part, "\n```")
		p.yaml = append(p.yaml, manifest+"\n")
	}
	copyRepository(t, root, p.folder)
	return p
}

// copyRepository copies the files of the repository that Git tracks or would add.
func copyRepository(t *testing.T, root, folder string) {
	t.Helper()
	must(t, os.MkdirAll(folder, 0o755))
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		`git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$1"`, "copy", folder)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copying the repository: %v\n%s", err, out)
	}
}

// next runs the next block of the page, which must contain the text, and returns its output.
func (p *page) next(t *testing.T, text string) string {
	t.Helper()
	if len(p.blocks) == 0 {
		t.Fatalf("%s has no block left for %q", p.name, text)
	}
	b := p.blocks[0]
	p.blocks = p.blocks[1:]
	return p.run(t, b, text)
}

// run runs a block, which must contain the text.
func (p *page) run(t *testing.T, b docs.Block, text string) string {
	t.Helper()
	if !strings.Contains(b.Script, text) {
		t.Fatalf("the next block, %s, does not contain %q:\n%s", b, text, b.Script)
	}
	script := b.Script
	for _, s := range p.standIns {
		script = strings.Replace(script, s.command, s.with, 1)
	}
	if strings.Contains(script, "https://") {
		t.Fatalf("%s needs the internet and has no stand-in:\n%s", b, script)
	}
	begin := time.Now()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = p.folder, append(os.Environ(), p.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", b, err, script, out)
	}
	t.Logf("%s: ok after %.1f s\n%s%s", b, time.Since(begin).Seconds(), script, out)
	return string(out)
}

// find returns the first block, run or not, that contains the text.
func find(t *testing.T, blocks []docs.Block, text string) docs.Block {
	t.Helper()
	for _, b := range blocks {
		if strings.Contains(b.Script, text) {
			return b
		}
	}
	t.Fatalf("no block contains %q", text)
	return docs.Block{}
}

// edit replaces texts in a file that the page's commands made, as its reader does with an editor.
func (p *page) edit(t *testing.T, file string, oldNew ...string) {
	t.Helper()
	path := filepath.Join(p.folder, file)
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(replaceAll(t, string(text), oldNew...)), 0o600))
}

// replaceAll replaces texts, each of which must be there.
func replaceAll(t *testing.T, text string, oldNew ...string) string {
	t.Helper()
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("there is no %q in\n%s", oldNew[i], text)
		}
		text = strings.ReplaceAll(text, oldNew[i], oldNew[i+1])
	}
	return text
}

// end requires that all blocks were run, and prints how long that took.
func (p *page) end(t *testing.T) {
	t.Helper()
	for _, b := range p.blocks {
		t.Errorf("%s was not run", b)
	}
	t.Logf("%s: %.1f minutes", p.name, time.Since(p.begin).Minutes())
}
