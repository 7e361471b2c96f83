package exporter

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// MetricsPage returns the text of docs/metrics.md: every metric with its labels and meaning.
func MetricsPage() string {
	var b strings.Builder
	b.WriteString(`# Metrics of slurm-exporter

This page is generated: change the tables in ` + "`exporter`" + ` and run ` + "`make generate`" + `.

Values are in base units. Values that Slurm has not set, or that have not been read yet, have no
sample. Counters of slurmctld restart when slurmctld resets them. slurm-metrics-adapter shows
these metrics too, and in addition the [metrics of NodeSets](metrics-nodesets.md).

- [The exporter itself](#the-exporter-itself)
`)
	for _, c := range collector.All() {
		fmt.Fprintf(&b, "- [%s](#%s)\n", collectorTitle(c),
			strings.ReplaceAll(strings.ToLower(collectorTitle(c)), " ", "-"))
	}
	b.WriteString("- [Native histograms](#native-histograms)\n")
	b.WriteString("\n## The exporter itself\n\nThese metrics are always shown.\n\n")
	writeTable(&b, append(exporterRows(), clientRows()...))
	for _, c := range collector.All() {
		writeCollector(&b, c)
	}
	b.WriteString(nativeHistogramsSection())
	return b.String()
}

func collectorTitle(c exposition.Collector) string {
	if c.Set != exposition.Native {
		return "Compatibility set " + c.Name
	}
	return "Collector " + c.Name
}

type metricRow struct {
	name, kind, help string
	labels           []string
}

func writeCollector(b *strings.Builder, c exposition.Collector) {
	fmt.Fprintf(b, "\n## %s\n\n", collectorTitle(c))
	var needs []string
	for _, r := range c.Needs {
		needs = append(needs, string(r))
	}
	switch {
	case c.Set != exposition.Native:
		fmt.Fprintf(b, "Enabled by `--compat=%s`; `/metrics/%s` shows only this set. It contains the %s. It reads "+
			"%s.\n"+
			"If a native metric has the same name, the compatible one is shown only at `/metrics/%s`.\n\n", c.Set,
			c.Set,
			c.Help, strings.Join(needs, ", "), c.Set)
	case c.OptIn:
		fmt.Fprintf(b, "Enabled by `--collector.%s`. It shows %s. It reads %s.\n\n", c.Name, c.Help,
			strings.Join(needs, ", "))
	default:
		fmt.Fprintf(b, "Enabled by default; `--no-collector.%s` disables it. It shows %s. It reads %s.\n\n", c.Name,
			c.Help, strings.Join(needs, ", "))
	}
	if c.Note != "" {
		b.WriteString(c.Note + "\n\n")
	}
	var rows []metricRow
	for _, f := range c.Families {
		rows = append(rows, metricRow{f.Name, string(f.Kind), f.Help, f.Labels})
	}
	if c.NewHistory != nil {
		rows = append(rows, rowsOfGatherer(c.NewHistory().Example())...)
	}
	writeTable(b, rows)
}

func writeTable(b *strings.Builder, rows []metricRow) {
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, r := range rows {
		labels := ""
		if len(r.labels) > 0 {
			labels = "`" + strings.Join(r.labels, "`, `") + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", r.name, r.kind, labels, r.help)
	}
}

func exporterRows() []metricRow {
	s := newExporterMetrics(&Exporter{})
	out := []metricRow{}
	for _, d := range s.allMetrics() {
		out = append(out, metricRow{d.name, string(d.kind), d.help, d.labels})
	}
	return append(out, metricRow{"slurm_exporter_build_info", string(exposition.Gauge),
		"Always 1; the labels describe the build.",
		[]string{"version", "revision", "branch", "goversion", "goos", "goarch", "tags"}})
}

func clientRows() []metricRow {
	r := NewClientMetrics()
	r.Request("get nodes", 200, 0, 1)
	r.Polled(slurmclient.Nodes, 0, nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	return rowsOfGatherer(registry)
}

// rowsOfGatherer describes metrics of client_golang by the families that are gathered.
func rowsOfGatherer(from prometheus.Gatherer) []metricRow {
	families, err := from.Gather()
	if err != nil {
		return nil // families of one registry do not conflict
	}
	var out []metricRow
	for _, f := range families {
		row := metricRow{name: f.GetName(), kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		first := f.GetMetric()[0]
		for _, l := range first.GetLabel() {
			row.labels = append(row.labels, l.GetName())
		}
		if h := first.GetHistogram(); h != nil && h.Schema != nil {
			row.kind = nativeHistogramKind
		}
		out = append(out, row)
	}
	return out
}
