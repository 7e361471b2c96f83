// Command values writes the reference of the charts' values from their values.yaml and
// values.schema.json:
//
//	go run ./tools/docs/values charts >docs/reference/values.md
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: values FOLDER")
		os.Exit(2)
	}
	charts, err := readCharts(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "values:", err)
		os.Exit(1)
	}
	fmt.Print(renderPage(charts))
}

// chart is the content of the page about one chart.
type chart struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	rows        []row
}

// readCharts returns the charts of a folder, ordered by name. The error names every value without an
// explanation.
func readCharts(folder string) ([]chart, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "Chart.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no charts in %s", folder)
	}
	out := make([]chart, len(files))
	for i, file := range files {
		if out[i], err = readChart(filepath.Dir(file)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Dir(file), err)
		}
	}
	return out, nil
}

func readChart(folder string) (chart, error) {
	var c chart
	var text [3][]byte
	for i, name := range []string{"Chart.yaml", "values.yaml", "values.schema.json"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return c, err
		}
		text[i] = content
	}
	if err := yaml.Unmarshal(text[0], &c); err != nil {
		return c, err
	}
	var err error
	c.rows, err = rowsOf(text[1], text[2])
	return c, err
}
