package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const pageHead = `# kubectl slurm

This page is generated: change the commands in ` + "`cmd/kubectl-slurm`" + ` and run ` + "`make generate`" + `.

<!-- run all: not here: the tests of the plugin run each command on objects of their own -->

`

const exitStatusSection = `## Exit status

| status | meaning |
|---|---|
| 0 | success; the doctor found nothing |
| 1 | the doctor found a fault |
| 2 | an error: nothing, or not everything, could be shown |

## Completion

kubectl completes the arguments of a plugin with a program ` + "`kubectl_complete-slurm`" + ` in ` + "`PATH`" + `:

` + "```sh" + `
cat >~/.local/bin/kubectl_complete-slurm <<'END'
#!/bin/sh
exec kubectl-slurm __complete "$@"
END
chmod +x ~/.local/bin/kubectl_complete-slurm
` + "```" + `

Called as ` + "`kubectl-slurm`" + `, it completes as ` + "`kubectl-slurm completion bash`" + ` (or ` + "`zsh`, `fish`, `powershell`" + `) says.
`

// renderPage returns the page of a command and its subcommands.
func renderPage(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString(pageHead)
	fmt.Fprintf(&out, "%s\n\n", root.Long)
	for _, c := range leafCommands(root) {
		fmt.Fprintf(&out, "- [%s](#%s): %s\n", c.CommandPath(), headingAnchor(c.CommandPath()), c.Short)
	}
	for _, c := range leafCommands(root) {
		writeCommand(&out, c)
	}
	out.WriteString("\n## Flags of all commands\n\nThese are the flags of kubectl.\n\n")
	writeFlags(&out, root.PersistentFlags())
	out.WriteString("\n" + exitStatusSection)
	return out.String()
}

// leafCommands returns the commands without subcommands in their order, except those of cobra.
func leafCommands(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, below := range c.Commands() {
		if below.Name() == "help" || below.Name() == "completion" {
			continue
		}
		if below.HasSubCommands() {
			out = append(out, leafCommands(below)...)
		} else {
			out = append(out, below)
		}
	}
	return out
}

func writeCommand(out *strings.Builder, c *cobra.Command) {
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(out, "\n## %s\n\n", c.CommandPath())
	text, list, _ := strings.Cut(long, ":\n\n  ")
	out.WriteString(text)
	if list != "" {
		out.WriteString(":\n\n")
		for item := range strings.FieldsSeq(list) {
			fmt.Fprintf(out, "- `%s`\n", item)
		}
	}
	fmt.Fprintf(out, "\n\n```\n%s\n```\n\n```sh\n%s\n```\n\n", strings.Replace(c.UseLine(), "[flags]", "[FLAGS]", 1),
		strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.AddFlagSet(c.LocalNonPersistentFlags())
	for p := c.Parent(); p != nil && p.HasParent(); p = p.Parent() {
		own.AddFlagSet(p.PersistentFlags())
	}
	writeFlags(out, own)
}

// writeFlags writes a table of flags.
func writeFlags(out *strings.Builder, set *pflag.FlagSet) {
	out.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		def := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			def = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", name, def, strings.ReplaceAll(f.Usage, "|", "\\|"))
	})
}

func headingAnchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}
