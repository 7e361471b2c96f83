// Package flagpage generates the reference page of a program's flags.
package flagpage

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

// Render returns the page of a program whose main package is cmd/NAME: its description, its flags,
// and the environment variables that set flags. The error names the flags without help.
func Render(program *flags.Program) (string, error) {
	var shown []*pflag.Flag
	var undocumented []string
	program.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		shown = append(shown, f)
		if strings.TrimSpace(f.Usage) == "" {
			undocumented = append(undocumented, "--"+f.Name)
		}
	})
	if len(undocumented) > 0 {
		return "", fmt.Errorf("flags of %s have no help: %s", program.Name, strings.Join(undocumented, ", "))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %[1]s\n\nThis page is generated: change the flags in `cmd/%[1]s` and run `make generate`.\n\n",
		program.Name)
	out.WriteString(formatDescription(program.Description))
	out.WriteString("\n## Flags\n\n")
	out.WriteString("A switch `--x` is turned off by `--no-x`. A flag marked … may be repeated.\n\n")
	out.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range shown {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", flagName(f), defaultCell(f), tableCell(f.Usage))
	}
	out.WriteString(environmentSection(shown))
	return out.String(), nil
}

// formatDescription returns the text of --help. Indented lines, which are examples, become code
// blocks.
func formatDescription(text string) string {
	var out strings.Builder
	block := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if example := strings.HasPrefix(line, "  "); example != block {
			out.WriteString("```\n")
			block = example
		}
		out.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	if block {
		out.WriteString("```\n")
	}
	return out.String()
}

func flagName(f *pflag.Flag) string {
	out := "`--" + f.Name + "`"
	if noun, ok := strings.CutSuffix(f.Value.Type(), ",..."); ok {
		out = "`--" + f.Name + "=" + noun + ",…`"
	}
	if f.Shorthand != "" {
		out = "`-" + f.Shorthand + "`, " + out
	}
	if flags.IsList(f) {
		out += " …"
	}
	return out
}

func defaultCell(f *pflag.Flag) string {
	text := flags.DefaultOf(f)
	switch {
	case text == "":
		return ""
	case f.Value.Type() != "bool":
		return "`" + tableCell(text) + "`"
	case text == "true":
		return "on"
	}
	return ""
}

// environmentSection describes the variables that set flags and the default variables of the flags that end with -env.
// It is "" if no flag has a variable.
func environmentSection(shown []*pflag.Flag) string {
	var out strings.Builder
	for _, f := range shown {
		if variable := flags.VariableOf(f); variable != "" {
			fmt.Fprintf(&out, "| `%s` | value of `--%s`; the flag takes precedence |\n", variable, f.Name)
		}
		if strings.HasSuffix(f.Name, "-env") && f.DefValue != "" {
			fmt.Fprintf(&out, "| `%s` | default variable of `--%s` |\n", f.DefValue, f.Name)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n## Environment variables\n\n| variable | meaning |\n|---|---|\n" + out.String()
}

// tableCell returns text as one line that is safe in a table cell.
func tableCell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
