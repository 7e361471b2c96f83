package flags

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// helpWidth is the width of --help outside of terminals.
const helpWidth = 100

// printHelp prints the description and the flags by group.
func (p *Program) printHelp(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "usage: %s [<flags>]\n\n%s\n", p.Name, strings.TrimSpace(p.Description))
	width := terminalWidth(w)
	for _, g := range p.groups {
		fmt.Fprintf(&out, "\n%s:\n%s", g.title, groupHelp(g, width))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// groupHelp returns the lines of a group. Switches show their negation, and flags the variables that
// set them.
func groupHelp(g group, width int) string {
	shown := newFlagSet()
	g.flags.VisitAll(func(f *pflag.Flag) {
		copied := *f
		if text := DefaultOf(f); text != "" {
			copied.DefValue = text
		}
		if IsSwitch(f) {
			copied.Name = "[no-]" + f.Name
		}
		if variable := VariableOf(f); variable != "" {
			copied.Usage += " ($" + variable + ")"
		}
		shown.AddFlag(&copied)
	})
	return shown.FlagUsagesWrapped(width)
}

// terminalWidth returns the width of the terminal that w writes to, or helpWidth.
func terminalWidth(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 { //nolint:gosec // a small number
			return width
		}
	}
	return helpWidth
}
