// Package flagpage writes the reference of a program's flags.
package flagpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Of returns the page of a program whose main package is cmd/NAME: what it does, its
// flags, and the environment variables that stand for flags. It is to be called before
// flags are read, since a flag without a default has the value that its variable has. An
// error names the flags that no help explains.
func Of(app *kingpin.ApplicationModel) (string, error) {
	flags := slices.DeleteFunc(slices.Clone(app.Flags), func(f *kingpin.FlagModel) bool { return f.Hidden })
	var untold []string
	for _, f := range flags {
		if strings.TrimSpace(f.Help) == "" {
			untold = append(untold, "--"+f.Name)
		}
	}
	if len(untold) > 0 {
		return "", fmt.Errorf("nothing explains the flags of %s: %s", app.Name, strings.Join(untold, ", "))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %[1]s\n\nThis page is generated: change the flags in `cmd/%[1]s` and run `make generate`.\n\n", app.Name)
	out.WriteString(description(app.Help))
	out.WriteString("\n## Flags\n\n")
	out.WriteString("A switch `--x` is turned off by `--no-x`. A flag marked … may be given several times.\n\n")
	out.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		standard, help := told(f)
		fmt.Fprintf(&out, "| %s | %s | %s |\n", name(f), code(standard), cell(help))
	}
	out.WriteString(environment(flags))
	return out.String(), nil
}

// description is the text of --help, with its indented lines, the examples, in a block.
func description(text string) string {
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

func name(f *kingpin.FlagModel) string {
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

// told returns a flag's default, which is "" where there is none, and its help, without
// the default that the help of a library's flag ends with.
func told(f *kingpin.FlagModel) (standard, help string) {
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

// environment is the section of the variables that stand for flags, or that flags whose
// name ends with -env name; "" without any.
func environment(flags []*kingpin.FlagModel) string {
	var out strings.Builder
	for _, f := range flags {
		if f.Envar != "" {
			fmt.Fprintf(&out, "| `%s` | stands for `--%s`, which counts more |\n", f.Envar, f.Name)
		}
		if strings.HasSuffix(f.Name, "-env") && len(f.Default) == 1 {
			fmt.Fprintf(&out, "| `%s` | is the variable that `--%s` names by default |\n", f.Default[0], f.Name)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n## Environment variables\n\n| variable | meaning |\n|---|---|\n" + out.String()
}

func code(text string) string {
	if text == "" || text == "on" {
		return text
	}
	return "`" + cell(text) + "`"
}

// cell is text in one line, fit for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
