//go:build e2e

package view

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/process"
	"github.com/slurmtide/slurmtide/test/restd"
)

// manyJobCount is the approximate number of job records of the simulated cluster.
const manyJobs = 100_000

// maxMemoryGrowth is how much additional memory the adapter may use, as a share of its memory
// before, while it lists all jobs. One list of all jobs built at once takes several times as much.
const mostGrowth = 1.5

// testManyJobs lists a hundred thousand jobs in pages and as a watch stream.
func (s *scene) pagesMany(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{ClusterName: "big", Key: []byte(restd.Key), Compact: true})
	c.Populate(1000, manyJobs, 1)
	s.applyText(t, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-c}\n---\n"+
		"apiVersion: slinky.slurm.net/v1beta1\nkind: Cluster\nmetadata: {name: big, namespace: team-c}\nspec: {server: %q, token: {secretRef: {name: slurm-token, key: SLURM_JWT}}}\n", restd.Start(t, c).URL()))
	s.setToken(t, "team-c")
	p := s.run(t, "--slurm.poll-interval=1m", "--metrics-max-age=10m")
	defer p.stop(t)
	client := s.client(t)
	process.Await(t, func() error { _, err := page(t, client, url.Values{"limit": {"1"}}); return err })

	before := p.memory(t, "VmRSS")
	check := func(what string, took time.Duration) {
		peak := p.memory(t, "VmHWM")
		t.Logf("%s: %v; the adapter used %d MiB before and %d MiB at its peak", what, took.Round(10*time.Millisecond), before, peak)
		if float64(peak) > mostGrowth*float64(before) {
			t.Errorf("%s: memory grows from %d to %d MiB", what, before, peak)
		}
		p.forgetPeak(t)
	}
	p.forgetPeak(t)
	begin := time.Now()
	listed := s.pageThrough(t, client)
	check(fmt.Sprintf("%d jobs in pages of 500", listed), time.Since(begin))

	begin = time.Now()
	rows := s.rows(t, client)
	check(fmt.Sprintf("%d jobs as tables in pages of 500", rows), time.Since(begin))
	if rows != listed || listed < manyJobs*9/10 {
		t.Errorf("the pages contain %d jobs, the tables %d", listed, rows)
	}

	begin = time.Now()
	streamed := s.streams(t, client)
	check(fmt.Sprintf("%d jobs as the beginning of a watch", streamed), time.Since(begin))
	if streamed != listed {
		t.Errorf("the pages contain %d jobs, the watch sent %d", listed, streamed)
	}
	if _, err := s.kubectl(t, "get", "slurmjobs", "-n", "team-c", "--chunk-size=0"); err == nil || !strings.Contains(err.Error(), "ask for pages") {
		t.Errorf("listing all jobs in one response: %v", err)
	}
}

func (s *site) client(t *testing.T) rest.Interface {
	t.Helper()
	config, err := s.kube.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return set.RESTClient()
}

const bigJobs = "/apis/view.slinky.slurm.net/v1alpha1/namespaces/team-c/slurmjobs"

// jobPage is the part of a page of jobs that the test reads.
type listing struct {
	Metadata struct{ Continue, ResourceVersion string }
	Items    []struct {
		Metadata struct{ Name string }
	}
}

func page(t *testing.T, client rest.Interface, params url.Values) (listing, error) {
	t.Helper()
	request := client.Get().AbsPath(bigJobs)
	for name, values := range params {
		request = request.Param(name, values[0])
	}
	var out listing
	body, err := request.DoRaw(t.Context())
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	return out, err
}

// countPagedJobs counts the jobs of all pages. No job may appear twice, and all pages must have
// the same resource version.
func (s *site) pageThrough(t *testing.T, client rest.Interface) int {
	t.Helper()
	seen, version, next := map[string]bool{}, "", ""
	for {
		params := url.Values{"limit": {"500"}}
		if next != "" {
			params.Set("continue", next)
		}
		got, err := page(t, client, params)
		if err != nil {
			t.Fatal(err)
		}
		if version != "" && got.Metadata.ResourceVersion != version {
			t.Fatalf("pages have resource versions %s and %s", version, got.Metadata.ResourceVersion)
		}
		version, next = got.Metadata.ResourceVersion, got.Metadata.Continue
		for _, i := range got.Items {
			if seen[i.Metadata.Name] {
				t.Fatalf("%s is listed twice", i.Metadata.Name)
			}
			seen[i.Metadata.Name] = true
		}
		if next == "" {
			return len(seen)
		}
	}
}

// countTableRows counts the rows of the tables that kubectl get requests.
func (s *site) rows(t *testing.T, client rest.Interface) int {
	t.Helper()
	count, next := 0, ""
	for {
		request := client.Get().AbsPath(bigJobs).Param("limit", "500").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if next != "" {
			request = request.Param("continue", next)
		}
		body, err := request.DoRaw(t.Context())
		var table metav1.Table
		if err == nil {
			err = json.Unmarshal(body, &table)
		}
		if err != nil {
			t.Fatal(err)
		}
		count += len(table.Rows)
		if next = table.Continue; next == "" {
			return count
		}
	}
}

// countWatchEvents counts the events up to the bookmark that ends the initial ones.
func (s *site) streams(t *testing.T, client rest.Interface) int {
	t.Helper()
	body, err := client.Get().AbsPath(bigJobs).Param("watch", "true").Param("sendInitialEvents", "true").
		Param("resourceVersionMatch", "NotOlderThan").Param("allowWatchBookmarks", "true").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `{"type":"BOOKMARK"`) {
			return count
		}
		count++
	}
	t.Fatalf("the watch ended after %d events: %v", count, lines.Err())
	return 0
}
