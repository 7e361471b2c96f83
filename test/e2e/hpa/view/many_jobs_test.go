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
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

// manyJobCount is the approximate number of job records of the simulated cluster.
const manyJobCount = 100_000

// maxMemoryGrowth is how much additional memory the adapter may use, as a share of its memory
// before, while it lists all jobs. One list of all jobs built at once takes several times as much.
const maxMemoryGrowth = 1.5

// testManyJobs lists a hundred thousand jobs in pages and as a watch stream.
func (s *env) testManyJobs(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{ClusterName: "big", Key: []byte(restd.Key), Compact: true})
	c.Populate(1000, manyJobCount, 1)
	s.applyManifest(t, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-c}\n---\n"+
		"apiVersion: slinky.slurm.net/v1beta1\nkind: Cluster\nmetadata: {name: big, namespace: team-c}\nspec: {server: %q, token: {secretRef: {name: slurm-token, key: SLURM_JWT}}}\n", restd.Start(t, c).URL()))
	s.setToken(t, "team-c")
	p := s.startAdapter(t, "--slurm.poll-interval=1m", "--metrics-max-age=10m")
	defer p.stop(t)
	client := s.newRESTClient(t)
	process.Await(t, func() error { _, err := readPage(t, client, url.Values{"limit": {"1"}}); return err })

	before := p.memoryMiB(t, "VmRSS")
	check := func(what string, took time.Duration) {
		peak := p.memoryMiB(t, "VmHWM")
		t.Logf("%s: %v; the adapter used %d MiB before and %d MiB at its peak", what, took.Round(10*time.Millisecond),
			before, peak)
		if float64(peak) > maxMemoryGrowth*float64(before) {
			t.Errorf("%s: memory grows from %d to %d MiB", what, before, peak)
		}
		p.resetPeak(t)
	}
	p.resetPeak(t)
	begin := time.Now()
	listed := s.countPagedJobs(t, client)
	check(fmt.Sprintf("%d jobs in pages of 500", listed), time.Since(begin))

	begin = time.Now()
	rows := s.countTableRows(t, client)
	check(fmt.Sprintf("%d jobs as tables in pages of 500", rows), time.Since(begin))
	if rows != listed || listed < manyJobCount*9/10 {
		t.Errorf("the pages contain %d jobs, the tables %d", listed, rows)
	}

	begin = time.Now()
	streamed := s.countWatchEvents(t, client)
	check(fmt.Sprintf("%d jobs as the beginning of a watch", streamed), time.Since(begin))
	if streamed != listed {
		t.Errorf("the pages contain %d jobs, the watch sent %d", listed, streamed)
	}
	begin = time.Now()
	whole, err := readPage(t, client, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs in one list: %v; the adapter used %d MiB before and %d MiB at its peak", len(whole.Items),
		time.Since(begin).Round(10*time.Millisecond), before, p.memoryMiB(t, "VmHWM"))
	if len(whole.Items) != listed {
		t.Errorf("the list without a limit contains %d jobs, the pages %d", len(whole.Items), listed)
	}
}

func (s *kubeEnv) newRESTClient(t *testing.T) rest.Interface {
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

const bigJobsPath = "/apis/view.slinky.slurm.net/v1alpha1/namespaces/team-c/slurmjobs"

// jobPage is the part of a page of jobs that the test reads.
type jobPage struct {
	Metadata struct{ Continue, ResourceVersion string }
	Items    []struct {
		Metadata struct{ Name string }
	}
}

func readPage(t *testing.T, client rest.Interface, params url.Values) (jobPage, error) {
	t.Helper()
	request := client.Get().AbsPath(bigJobsPath)
	for name, values := range params {
		request = request.Param(name, values[0])
	}
	var out jobPage
	body, err := request.DoRaw(t.Context())
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	return out, err
}

// countPagedJobs counts the jobs of all pages. No job may appear twice, and all pages must have
// the same resource version.
func (s *kubeEnv) countPagedJobs(t *testing.T, client rest.Interface) int {
	t.Helper()
	seen, version, next := map[string]bool{}, "", ""
	for {
		params := url.Values{"limit": {"500"}}
		if next != "" {
			params.Set("continue", next)
		}
		got, err := readPage(t, client, params)
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
func (s *kubeEnv) countTableRows(t *testing.T, client rest.Interface) int {
	t.Helper()
	count, next := 0, ""
	for {
		request := client.Get().AbsPath(bigJobsPath).Param("limit", "500").SetHeader(
			"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
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
func (s *kubeEnv) countWatchEvents(t *testing.T, client rest.Interface) int {
	t.Helper()
	body, err := client.Get().AbsPath(bigJobsPath).Param("watch", "true").Param("sendInitialEvents", "true").
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
