package exporter

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// MetricsPage returns docs/metrics.md: every metric with its labels and meaning.
func MetricsPage() string {
	var b strings.Builder
	b.WriteString(`# Metrics of slurm-exporter

This page is generated: change the tables in ` + "`exporter`" + ` and run ` + "`make generate`" + `.

Values are in base units. What Slurm has not set, and what has not been read yet,
has no sample. Counters restart with slurmctld's own. What slurm-metrics-adapter shows of
NodeSets beside all of this is on [a page of its own](metrics-nodesets.md).

- [The exporter itself](#the-exporter-itself)
`)
	for _, c := range collectors() {
		fmt.Fprintf(&b, "- [%s](#%s)\n", title(c), strings.ReplaceAll(strings.ToLower(title(c)), " ", "-"))
	}
	b.WriteString("\n## The exporter itself\n\nAlways shown.\n\n")
	writeTable(&b, append(selfRows(), requestRows()...))
	for _, c := range collectors() {
		writeCollector(&b, c)
	}
	return b.String()
}

func title(c collector) string {
	if c.set != Native {
		return "Compatibility set " + c.name
	}
	return "Collector " + c.name
}

type metricRow struct {
	name, kind, help string
	labels           []string
}

func writeCollector(b *strings.Builder, c collector) {
	fmt.Fprintf(b, "\n## %s\n\n", title(c))
	var needs []string
	for _, r := range c.needs {
		needs = append(needs, string(r))
	}
	switch {
	case c.set != Native:
		fmt.Fprintf(b, "Shown with `--compat=%s`, and alone at `/metrics/%s`: %s. Reads %s.\n"+
			"A name that a native metric has too is only in `/metrics/%s`.\n\n", c.set, c.set, c.help, strings.Join(needs, ", "), c.set)
	case c.off:
		fmt.Fprintf(b, "Shown with `--collector.%s`: %s. Reads %s.\n\n", c.name, c.help, strings.Join(needs, ", "))
	default:
		fmt.Fprintf(b, "Shown unless `--no-collector.%s`: %s. Reads %s.\n\n", c.name, c.help, strings.Join(needs, ", "))
	}
	if c.note != "" {
		b.WriteString(c.note + "\n\n")
	}
	var rows []metricRow
	for _, f := range c.families {
		rows = append(rows, metricRow{f.name, string(f.kind), f.help, f.labels})
	}
	if c.observes {
		rows = append(rows, observedRows()...)
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

func selfRows() []metricRow {
	s := newSelf(&Exporter{})
	out := []metricRow{}
	for _, d := range s.table() {
		out = append(out, metricRow{d.name, string(d.kind), d.help, d.labels})
	}
	return append(out, metricRow{"slurm_exporter_build_info", string(gauge), "1, with what the program was built from.",
		[]string{"version", "revision", "branch", "goversion", "goos", "goarch", "tags"}})
}

func requestRows() []metricRow {
	r := NewRequests()
	r.Request("get nodes", 200, 0, 1)
	r.Polled(slurmclient.Nodes, 0, nil)
	return gatheredRows(r)
}

func observedRows() []metricRow {
	o := newObserved()
	o.partition("batch")
	return gatheredRows(o.eligible, o.start, o.ended)
}

// gatheredRows describes collectors of client_golang by what they give.
func gatheredRows(from ...prometheus.Collector) []metricRow {
	registry := prometheus.NewRegistry()
	registry.MustRegister(from...)
	families, err := registry.Gather()
	if err != nil {
		return nil // nothing in these tables contradicts itself
	}
	var out []metricRow
	for _, f := range families {
		row := metricRow{name: f.GetName(), kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		for _, l := range f.GetMetric()[0].GetLabel() {
			row.labels = append(row.labels, l.GetName())
		}
		out = append(out, row)
	}
	return out
}
