package exporter

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

//go:embed landing.html landing.css
var landingFiles embed.FS

// Landing returns a handler for a page that summarizes the cluster and links to the other
// pages. Metrics(Native) is served at metricsPath, and the other sets below it.
func (e *Exporter) Landing(metricsPath string) (http.Handler, error) {
	summary, err := template.ParseFS(landingFiles, "landing.html")
	if err != nil {
		return nil, fmt.Errorf("reading the landing page: %w", err)
	}
	css, err := landingFiles.ReadFile("landing.css")
	if err != nil {
		return nil, fmt.Errorf("reading the landing page: %w", err)
	}
	links := []web.LandingLinks{{Address: metricsPath, Text: "Metrics"}}
	for _, s := range e.cfg.Compat {
		links = append(links, web.LandingLinks{Address: metricsPath + "/" + string(s),
			Text: "Metrics with the names of " + string(s)})
	}
	links = append(links,
		web.LandingLinks{Address: "/-/ready", Text: "Readiness"},
		web.LandingLinks{Address: "/-/healthy", Text: "Health"})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var html bytes.Buffer
		if err := summary.Execute(&html, e.summarize()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		page, err := web.NewLandingPage(web.LandingConfig{
			Name: "slurm-exporter", Description: "Prometheus exporter for Slurm", Version: version.Info(),
			HeaderColor: "#0b5d7a", Links: links, ExtraHTML: html.String(), ExtraCSS: string(css), Profiling: "false",
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		page.ServeHTTP(w, r)
	}), nil
}

// clusterSummary is the data of the landing page.
type clusterSummary struct {
	Cluster, Release, Version string
	Up, Known                 bool
	Age                       time.Duration
	Problems                  []string
	Nodes, Jobs               []stateCount
	Partitions                []partitionSummary
}

type stateCount struct {
	Name  string
	Count uint64
}

type partitionSummary struct {
	Name, State                                    string
	Nodes, Idle, Required, Pending, Eligible, Runs uint64
	CPUs, CPUsAllocated                            uint64
}

func (e *Exporter) summarize() clusterSummary {
	s := e.source.Snapshot()
	out := clusterSummary{Cluster: s.Server.Cluster, Release: s.Server.Release, Version: s.Version, Up: isUp(s)}
	out.Age, out.Known = oldestAge(s, e.cfg.Now())
	out.Age = out.Age.Round(time.Second)
	for _, p := range s.Polls() {
		if p.Enabled && p.Err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("%s: %v", p.Resource, p.Err))
		}
	}
	page := e.pages.Current()
	if page == nil {
		return out
	}
	v := page.View
	if v.NodeTotals != nil {
		for _, w := range slurm.NodeWords() {
			out.Nodes = appendCount(out.Nodes, w, v.NodeTotals.All.ByWord[w])
		}
	}
	if v.JobTotals != nil {
		for _, b := range slurm.JobBases() {
			out.Jobs = appendCount(out.Jobs, exposition.LabelSpelling(b.String()), v.JobTotals.All.InState(b))
		}
	}
	out.Partitions = summarizePartitions(v)
	return out
}

func appendCount(list []stateCount, name string, n uint64) []stateCount {
	if n == 0 {
		return list
	}
	return append(list, stateCount{name, n})
}

func summarizePartitions(v *tally.View) []partitionSummary {
	if v.NodeTotals == nil || v.JobTotals == nil {
		return nil
	}
	var out []partitionSummary
	for _, p := range v.Partitions.Value {
		d, _ := v.Demand.Partition(p.Name)
		row := partitionSummary{
			Name: p.Name, State: exposition.LabelSpelling(string(p.State)), Idle: d.IdleNodes,
			Required: d.RequiredNodes,
			Pending:  d.PendingJobs, Eligible: d.EligiblePendingJobs, Runs: d.RunningJobs,
		}
		if t := v.NodeTotals.ByPartition[p.Name]; t != nil {
			row.Nodes, row.CPUs, row.CPUsAllocated = t.Total, t.CPUs.Total(), t.CPUs.Allocated
		}
		out = append(out, row)
	}
	return out
}
