// Package flagpage generates the reference page of a program's flags.
package flagpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Render returns the page of a program whose main package is cmd/NAME: its description, its flags,
// and the environment variables that set flags. Call it before the flags are parsed: a flag without
// a default would otherwise show the value of its variable. The error names the flags without help.
func Render(app *kingpin.ApplicationModel) (string, error) {
	flags := slices.DeleteFunc(slices.Clone(app.Flags), func(f *kingpin.FlagModel) bool { return f.Hidden })
	var undocumented []string
	for _, f := range flags {
		if strings.TrimSpace(f.Help) == "" {
			undocumented = append(undocumented, "--"+f.Name)
		}
	}
	if len(undocumented) > 0 {
		return "", fmt.Errorf("flags of %s have no help: %s", app.Name, strings.Join(undocumented, ", "))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %[1]s\n\nThis page is generated: change the flags in `cmd/%[1]s` and run `make generate`.\n\n",
		app.Name)
	out.WriteString(formatDescription(app.Help))
	out.WriteString("\n## Flags\n\n")
	out.WriteString("A switch `--x` is turned off by `--no-x`. A flag marked … may be repeated.\n\n")
	out.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		standard, help := defaultAndHelp(f)
		fmt.Fprintf(&out, "| %s | %s | %s |\n", flagName(f), codeCell(standard), tableCell(help))
	}
	out.WriteString(environmentSection(flags))
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

func flagName(f *kingpin.FlagModel) string {
	out := "`--" + f.Name + "`"
	if f.Short != 0 {
		out = "`-" + string(f.Short) + "`, " + out
	}
	if f.PlaceHolder != "" {
		out = strings.TrimSuffix(out, "`") + "=" + f.PlaceHolder + "`"
	}
	if v, ok := f.Value.(interface{ IsCumulative() bool }); ok && v.IsCumulative() {
		out += " …"
	}
	return out
}

// defaultAndHelp returns a flag's default and help. The default is "" if there is none. Help texts
// of libraries end with the default, which is removed.
func defaultAndHelp(f *kingpin.FlagModel) (standard, help string) {
	standard = strings.Join(f.Default, ",")
	if len(f.Default) == 0 {
		standard = f.Value.String()
	}
	help = strings.TrimSuffix(f.Help, " Default: "+standard+".")
	standard = strings.TrimSuffix(strings.TrimPrefix(standard, "["), "]")
	if f.IsBoolFlag() {
		standard = map[string]string{"true": "on"}[standard]
	}
	return standard, help
}

// environmentSection describes the variables that set flags and the default variables of the flags
// that end with -env. It is "" if there are none.
func environmentSection(flags []*kingpin.FlagModel) string {
	var out strings.Builder
	for _, f := range flags {
		if f.Envar != "" {
			fmt.Fprintf(&out, "| `%s` | value of `--%s`; the flag takes precedence |\n", f.Envar, f.Name)
		}
		if strings.HasSuffix(f.Name, "-env") && len(f.Default) == 1 {
			fmt.Fprintf(&out, "| `%s` | default variable of `--%s` |\n", f.Default[0], f.Name)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n## Environment variables\n\n| variable | meaning |\n|---|---|\n" + out.String()
}

func codeCell(text string) string {
	if text == "" || text == "on" {
		return text
	}
	return "`" + tableCell(text) + "`"
}

// tableCell returns text as one line that is safe in a table cell.
func tableCell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
