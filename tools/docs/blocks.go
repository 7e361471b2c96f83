package docs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Place is an environment in which the commands of a block can be run, or NotHere.
type Place string

// The places.
const (
	// Here is a clone of the repository on this machine.
	Here Place = "here"
	// Kube is a Kubernetes cluster without nodes, which kubectl and helm are configured for.
	Kube Place = "kube"
	// Demo is the running demo, after its scenario.
	Demo Place = "demo"
	// Test is a test of real systems that runs all blocks of a page, in the order of the page.
	Test Place = "test"
	// NotHere marks commands that need something no test provides; the page names it.
	NotHere Place = "not here"
)

// Block is a fenced block of commands on a page.
type Block struct {
	Page string
	// Line is the line number of its fence, from 1.
	Line  int
	Place Place
	Why   string // reason of NotHere
	// Test and Package name the function and the folder of Test.
	Test, Package string
	Script        string
}

// String returns PAGE:LINE.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// markPattern matches the comment before a block, or before the first block of a page whose blocks
// all have the same place:
//
//	<!-- run: demo -->
//	<!-- run: not here: it needs a Slurm of yours -->
//	<!-- run: test: TestGPUPage of test/e2e/cluster -->
//	<!-- run all: demo -->
var markPattern = regexp.MustCompile(`^<!-- run( all)?: (here|kube|demo|not here: (.+)|test: (Test\w+) of (test/[\w/]+)) -->$`)

// parseMark returns a block with the place of a match of markPattern.
func parseMark(m []string) *Block {
	switch {
	case m[3] != "":
		return &Block{Place: NotHere, Why: m[3]}
	case m[4] != "":
		return &Block{Place: Test, Test: m[4], Package: m[5]}
	}
	return &Block{Place: Place(m[2])}
}

// ParseBlocks returns the blocks of commands on a page. The error names the blocks without a mark:
// their author must decide whether they are run.
func ParseBlocks(page, text string) ([]Block, error) {
	var out []Block
	var all, next *Block
	var unmarked []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if m := markPattern.FindStringSubmatch(line); m != nil {
			if b := parseMark(m); m[1] != "" {
				all = b
			} else {
				next = b
			}
			continue
		}
		if !strings.HasPrefix(line, "```") {
			if line != "" {
				next = nil
			}
			continue
		}
		end := i + 1 + slices.IndexFunc(lines[i+1:], func(l string) bool { return strings.TrimSpace(l) == "```" })
		if end == i {
			return nil, fmt.Errorf("%s:%d: the block is not closed", page, i+1)
		}
		if line == "```sh" {
			b := Block{}
			if mark := cmp.Or(next, all); mark != nil {
				b = *mark
			}
			b.Page, b.Line, b.Script = page, i+1, strings.Join(lines[i+1:end], "\n")+"\n"
			if b.Place == "" {
				unmarked = append(unmarked, b.String())
			}
			out = append(out, b)
		}
		next, i = nil, end
	}
	if len(unmarked) > 0 {
		return out, fmt.Errorf("blocks without a place to run (<!-- run: here|kube|demo|test: TEST of FOLDER|not here: WHY -->): %s",
			strings.Join(unmarked, ", "))
	}
	return out, nil
}

// BoundWatches returns the script with a timeout on each command that watches, which counts as
// success.
func BoundWatches(script string) string {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "kubectl ") &&
			slices.ContainsFunc(strings.Fields(line), func(w string) bool { return w == "--watch" || w == "-w" }) {
			lines[i] = "timeout 5 " + line + " || [ $? = 124 ]"
		}
	}
	return strings.Join(lines, "\n")
}
