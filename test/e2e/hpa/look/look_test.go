//go:build e2e

package look

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
)

// patience limits queries that depend on events such as a scheduling cycle or the end of a job.
const patience = 5 * time.Minute

// holdDuration keeps the environment running, to take pictures.
var holdDuration = flag.Duration("hold", 0, "how long to keep running a varying workload before the end")

func TestQueriesReturnData(t *testing.T) {
	s := newEnv(t)
	s.submitJobsUntilEnd(t,
		[]string{"alice", "-A", "ml", "-p", "short", "-t", "1", "-n", "2", "--wrap", "sleep 2"},
		[]string{"bob", "-p", "short", "-t", "1", "-n", "1", "--wrap", "exit 1"},
		[]string{"carol", "-p", "short", "-t", "1", "-n", "16", "--wrap", "sleep 1"},
	)
	t.Run("of every dashboard", func(t *testing.T) {
		var all []query
		for _, d := range allDashboards(t) {
			all = append(all, d.queries(allVariables(s.devJobs["gpus"]))...)
		}
		s.prometheus.awaitAnswers(t, patience, all)
	})
	t.Run("of the variables of every dashboard", func(t *testing.T) {
		s.prometheus.awaitAnswers(t, patience, variableQueries(t))
	})
	t.Run("of every rule", func(t *testing.T) {
		s.prometheus.awaitAnswers(t, patience, ruleQueries(t))
	})
	for _, set := range []string{"vpenso", "slinky", "openmetrics"} {
		t.Run("written for "+set, func(t *testing.T) {
			s.prometheus.awaitAnswers(t, patience, readKnownQueries(t, set))
		})
	}
	if *holdDuration > 0 {
		s.playWorkload(t, *holdDuration)
	}
	t.Run("of alerts during an outage", func(t *testing.T) { s.testAlertsDuringOutage(t) })
}

// playWorkload submits bursts of jobs that scale the NodeSet, scales the operator's NodeSet, and
// prints the address of Prometheus.
func (s *env) playWorkload(t *testing.T, duration time.Duration) {
	fmt.Fprintf(os.Stderr, "Prometheus is at %s, the exporter at http://%s, for %s\n", s.prometheus.url,
		s.exporterAddress, duration)
	end := time.After(duration)
	tick := time.NewTicker(75 * time.Second)
	defer tick.Stop()
	for i := 0; ; i++ {
		tasks := []string{"0-5", "0-2", "0-9", "0-1"}[i%4]
		_, err := s.loop.Slurm.Run(t.Context(), "alice", "sbatch", "-p", loop.NodeSet, "--array="+tasks, "-n", "4",
			"-o", "/dev/null", "--wrap", "sleep 25")
		if err != nil {
			t.Fatal(err)
		}
		replicas := []string{"3", "1", "2", "0"}[i%4]
		_, err = s.loop.Kube.Kubectl(t.Context(), "scale", "nodeset", "nightly", "-n", operatorNamespace, "--replicas",
			replicas)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-end:
			return
		}
	}
}

// labelValuesPattern matches a variable's query for the values of a label.
var labelValuesPattern = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

func variableQueries(t *testing.T) []query {
	t.Helper()
	var out []query
	for _, d := range allDashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			text, _ := v.Query.(map[string]any)["query"].(string)
			m := labelValuesPattern.FindStringSubmatch(text)
			if m == nil {
				t.Errorf("%s: the variable %s has the query %q", d.UID, v.Name, text)
				continue
			}
			expr := fmt.Sprintf("count by (%[1]s) (%[2]s) unless count(%[2]s)", m[2], allVariables("").Replace(m[1]))
			out = append(out, query{d.UID + " " + v.Name, expr})
		}
	}
	return out
}

// ruleQueries returns the recording rules and the selectors that alerts read. Alerts themselves
// return nothing while all is well.
func ruleQueries(t *testing.T) []query {
	t.Helper()
	var out []query
	for _, r := range allRules(t) {
		if r.Record != "" {
			out = append(out, query{r.Record, r.Expr}, query{r.Record + " as recorded", r.Record})
			continue
		}
		for _, s := range selectorsIn(r.Expr) {
			out = append(out, query{r.Alert, s})
		}
	}
	return out
}

// readKnownQueries reads a list of queries on the metrics of one compatibility endpoint.
func readKnownQueries(t *testing.T, set string) []query {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "queries", set+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []query
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, query{set, restrictToJob(line, set)})
		}
	}
	return out
}

// restrictToJob makes a query read only the metrics that the job scraped.
func restrictToJob(expr, job string) string {
	for _, s := range selectorsIn(expr) {
		name, matchers, _ := strings.Cut(strings.TrimSuffix(s, "}"), "{")
		expr = strings.Replace(expr, s, strings.TrimSpace(name)+`{job="`+job+`", `+matchers+"}", 1)
	}
	return strings.ReplaceAll(expr, ", }", "}")
}

// testAlertsDuringOutage stops slurmrestd and waits until the alerts about it become pending.
func (s *env) testAlertsDuringOutage(t *testing.T) {
	if err := s.dev.Stop(t.Context(), "slurmrestd"); err != nil {
		t.Fatal(err)
	}
	s.prometheus.awaitAnswers(t, patience,
		[]query{{"SlurmUnreachable", `ALERTS{alertname="SlurmUnreachable", cluster="dev"}`}})
}
