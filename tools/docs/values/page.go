package main

import (
	"fmt"
	"strings"
)

const pageHeader = `# Values of the charts

This page is generated: change the comments in the charts' ` + "`values.yaml`" + ` and run ` + "`make generate`" + `.

Defaults are written as JSON, which YAML understands. A *duration* is a number with a unit:
` + "`30s`, `5m`, `1h30m`" + `. Every chart has a ` + "`values.schema.json`" + `: Helm refuses a value that is
misspelt, of another type or out of its bounds. A value of a part that is given as a whole, such as
` + "`resources.limits`" + `, is merged with the default key by key, as Helm does with all maps.

`

// renderPage returns the whole page, with the charts in the given order.
func renderPage(charts []chart) string {
	var out strings.Builder
	out.WriteString(pageHeader)
	for _, c := range charts {
		fmt.Fprintf(&out, "- [%[1]s](#%[1]s): %[2]s\n", c.Name, oneLine(c.Description))
	}
	for _, c := range charts {
		fmt.Fprintf(&out, "\n## %[1]s\n\n[README of the chart](../../charts/%[1]s/README.md)\n\n", c.Name)
		out.WriteString("| value | type | default | meaning |\n|---|---|---|---|\n")
		for _, r := range c.rows {
			fmt.Fprintf(&out, "| `%s` | %s | `%s` | %s |\n", r.path, r.kind, oneLine(r.defaultValue),
				oneLine(r.meaning))
		}
	}
	return out.String()
}

// oneLine returns text as one line that is safe in a cell of a Markdown table.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
