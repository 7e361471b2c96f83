package metricsapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/metrics/pkg/apis/custom_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/slurmclient"
)

func providerOf(d Directory, at time.Time) *Provider {
	return New(d, Config{Now: func() time.Time { return at }})
}

func selectorOf(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// getByName queries a metric as the library does.
func getByName(t *testing.T, p *Provider, of Resource, namespace, name, metric, selector string) (
	*custom_metrics.MetricValue, error) {
	t.Helper()
	return p.GetMetricByName(context.Background(), types.NamespacedName{Namespace: namespace, Name: name},
		provider.CustomMetricInfo{GroupResource: of.GroupResource, Namespaced: of.Namespaced, Metric: metric},
		selectorOf(t, selector))
}

func TestEveryMetricIsOfItsObject(t *testing.T) {
	p := providerOf(testDirectory(), noon())
	for _, tc := range []struct {
		name     string
		of       Resource
		object   string
		metric   string
		selector string
		want     int64
	}{
		{"a NodeSet's busy nodes", NodeSets(), "a", "slurm_nodeset_busy_nodes", "", 1},
		{"a NodeSet's idle nodes", NodeSets(), "a", "slurm_nodeset_idle_nodes", "", 1},
		{"a NodeSet requires busy nodes and idle nodes that jobs will use", NodeSets(), "a",
			"slurm_nodeset_required_nodes", "", 2},
		{"a NodeSet's pending nodes", NodeSets(), "b", "slurm_nodeset_pending_nodes", "", 3},
		{"no node is booting", NodeSets(), "a", "slurm_nodeset_booting_nodes", "", 0},
		{"no node is unusable", NodeSets(), "a", "slurm_nodeset_unusable_nodes", "", 0},
		{"no job is too large", NodeSets(), "a", "slurm_nodeset_unsatisfiable_jobs", "", 0},
		{"a NodeSet requires one node per array task in addition to the idle node that another job will use",
			NodeSets(), "b", "slurm_nodeset_required_nodes", "", 4},

		{"a job in two partitions counts once for a cluster", Clusters(), "red", "slurm_partition_pending_jobs", "", 7},
		{"a job in two partitions counts in each if it is selected", Clusters(), "red", "slurm_partition_pending_jobs",
			"partition=a", 4},
		{"an array counts its tasks", Clusters(), "red", "slurm_partition_pending_jobs", "partition=b", 4},
		{"any selector over partitions is allowed", Clusters(), "red", "slurm_partition_pending_jobs",
			"partition in (b,both)", 4},
		{"held and dependent jobs are not eligible", Clusters(), "red", "slurm_partition_eligible_pending_jobs",
			"partition=a", 2},
		{"eligible jobs count once too", Clusters(), "red", "slurm_partition_eligible_pending_jobs", "partition!=both",
			5},
		{"a node in two partitions counts once", Clusters(), "red", "slurm_partition_idle_nodes", "", 2},
		{"a busy node too", Clusters(), "red", "slurm_partition_busy_nodes", "", 1},
		{"all nodes of one partition count", Clusters(), "red", "slurm_partition_idle_nodes", "partition=both", 2},
		{"running jobs", Clusters(), "red", "slurm_partition_running_jobs", "", 1},
		{"pending nodes of a cluster", Clusters(), "red", "slurm_partition_pending_nodes", "", 3},
		{"required nodes are busy and pending nodes", Clusters(), "red", "slurm_partition_required_nodes", "", 4},
		{"the oldest job has waited an hour at the time of the reading", Clusters(), "red",
			"slurm_partition_oldest_pending_seconds", "", 3599},
		{"no job waits in a partition", Clusters(), "red", "slurm_partition_oldest_pending_seconds", "partition=both",
			0},
		{"a Controller is a cluster too", Controllers(), "blue", "slurm_partition_pending_jobs", "", 1},

		{"a NodeSet has the partitions that it serves", NodeSets(), "a", "slurm_partition_pending_jobs", "", 4},
		{"a NodeSet has the one partition that is selected", NodeSets(), "a", "slurm_partition_idle_nodes",
			"partition=a", 1},
		{"a namespace has all its clusters", Namespaces(), "team", "slurm_partition_pending_jobs", "", 8},
		{"a selector chooses clusters of a namespace", Namespaces(), "team", "slurm_partition_pending_jobs",
			"cluster=blue", 1},
		{"a namespace sums partitions of the same name", Namespaces(), "team", "slurm_partition_pending_jobs",
			"partition=a", 5},
		{"ages are not summed", Namespaces(), "team", "slurm_partition_oldest_pending_seconds", "", 3599},
	} {
		t.Run(tc.name, func(t *testing.T) {
			namespace := "team"
			if !tc.of.Namespaced {
				namespace = ""
			}
			got, err := getByName(t, p, tc.of, namespace, tc.object, tc.metric, tc.selector)
			if err != nil {
				t.Fatal(err)
			}
			if got.Value.Value() != tc.want {
				t.Errorf("the value is %d, want %d", got.Value.Value(), tc.want)
			}
			if want := noon().Add(-time.Second); !got.Timestamp.Time.Equal(want) {
				t.Errorf("the timestamp is %v, want that of the reading, %v", got.Timestamp, want)
			}
			if o := got.DescribedObject; o.Kind != tc.of.Kind || o.Name != tc.object || o.Namespace != namespace {
				t.Errorf("the value describes %+v", o)
			}
			if (got.Metric.Selector != nil) != (tc.selector != "") || got.Metric.Name != tc.metric {
				t.Errorf("the metric is %+v", got.Metric)
			}
		})
	}
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	p := providerOf(testDirectory(), noon())
	for _, tc := range []struct {
		name              string
		of                Resource
		namespace, object string
		metric, selector  string
	}{
		{"an unknown metric", Clusters(), "team", "red", "slurm_nothing", ""},
		{"an unknown object", Clusters(), "team", "green", "slurm_partition_pending_jobs", ""},
		{"an unknown namespace", Clusters(), "nobody", "red", "slurm_partition_pending_jobs", ""},
		{"a namespace without a cluster", Namespaces(), "", "nobody", "slurm_partition_pending_jobs", ""},
		{"a metric that the resource does not have", Clusters(), "team", "red", "slurm_nodeset_busy_nodes", ""},
		{"a partition that does not exist", Clusters(), "team", "red", "slurm_partition_pending_jobs", "partition=z"},
		{"a partition that the NodeSet does not serve", NodeSets(), "team", "a", "slurm_partition_pending_jobs",
			"partition=b"},
		{"a label that the metric does not have", NodeSets(), "team", "a", "slurm_nodeset_busy_nodes", "partition=a"},
		{"another resource", Resource{GroupResource: Namespaces().GroupResource, Namespaced: true}, "team", "red",
			"slurm_partition_pending_jobs", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if v, err := getByName(t, p, tc.of, tc.namespace, tc.object, tc.metric, tc.selector); !apierrors.IsNotFound(
				err) {
				t.Errorf("the answer is %v, %v", v, err)
			}
		})
	}
}

func TestAStaleOrUnreadClusterIsAnError(t *testing.T) {
	refused := &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: "listing jobs", Message: "connection refused"}
	for _, tc := range []struct {
		name   string
		at     time.Time
		change func(*slurmclient.Snapshot)
		want   []string // in the message
	}{
		{"jobs are too old", noon().Add(3 * time.Minute), func(s *slurmclient.Snapshot) {
			s.Nodes.ReadAt, s.Partitions.ReadAt, s.Jobs.Err = noon().Add(3*time.Minute), noon().Add(3*time.Minute),
				refused
		},
			[]string{"team/red", "jobs", "3m1s ago", "more than 2m0s", "connection refused"}},
		{"partitions are too old without an error", noon(),
			func(s *slurmclient.Snapshot) { s.Partitions.ReadAt = noon().Add(-5 * time.Minute) },
			[]string{"team/red", "partitions", "5m0s ago"}},
		{"nodes have not been read yet", noon(),
			func(s *slurmclient.Snapshot) { s.Nodes.Poll = slurmclient.Poll{Resource: slurmclient.Nodes} },
			[]string{"team/red", "nodes", "not been read yet"}},
		{"jobs have never been read", noon(), func(s *slurmclient.Snapshot) {
			s.Jobs.Poll = slurmclient.Poll{Resource: slurmclient.Jobs, Err: refused}
		},
			[]string{"team/red", "jobs", "never been read", "connection refused"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := providerOf(testDirectory(tc.change), tc.at)
			for _, e := range Catalogue() {
				for _, q := range []struct {
					of     Resource
					object string
				}{{NodeSets(), "a"}, {Clusters(), "red"}, {Namespaces(), "team"}} {
					if !e.Has(q.of) {
						continue
					}
					namespace := map[bool]string{true: "team"}[q.of.Namespaced]
					v, err := getByName(t, p, q.of, namespace, q.object, e.Name, "")
					if !apierrors.IsServiceUnavailable(err) {
						t.Fatalf("%s of %s is %v, %v", e.Name, q.object, v, err)
					}
					for _, want := range tc.want {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("%q is missing in %q", want, err)
						}
					}
				}
			}
		})
	}
}

func TestDataIsGoodUntilItsLimit(t *testing.T) {
	at := noon().Add(-time.Second + DefaultMaxAge)
	if _, err := getByName(t, providerOf(testDirectory(), at), Clusters(), "team", "red",
		"slurm_partition_pending_jobs", ""); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := getByName(t, providerOf(testDirectory(), at.Add(time.Second)), Clusters(), "team", "red",
		"slurm_partition_pending_jobs", ""); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestANodeSetThatNothingWasComputedForIsAnError(t *testing.T) {
	_, err := getByName(t, providerOf(testDirectory(), noon()), NodeSets(), "team", "new",
		"slurm_nodeset_required_nodes", "")
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestAClusterThatIsNotThereIsAnError(t *testing.T) {
	d := fakeDirectory{"nodesets": {{Object: Object{Namespace: "team", Name: "x", Pool: "team/x",
		Clusters: []Cluster{fakeCluster{name: "gone", err: errors.New("no Cluster of this name exists")}}}}}}
	_, err := getByName(t, providerOf(d, noon()), NodeSets(), "team", "x", "slurm_nodeset_required_nodes", "")
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "team/gone: no Cluster") {
		t.Errorf("the error is %v", err)
	}
}

func TestListsAreWholeOrErrors(t *testing.T) {
	p := providerOf(testDirectory(), noon())
	list := func(matching string) (map[string]int64, error) {
		got, err := p.GetMetricBySelector(t.Context(), "team", selectorOf(t, matching),
			provider.CustomMetricInfo{GroupResource: NodeSets().GroupResource, Namespaced: true,
				Metric: "slurm_nodeset_required_nodes"}, labels.Everything())
		if err != nil {
			return nil, err
		}
		out := map[string]int64{}
		for _, v := range got.Items {
			out[v.DescribedObject.Name] = v.Value.Value()
		}
		return out, nil
	}
	if got, err := list("tier in (gold,silver)"); err != nil || !cmp.Equal(got, map[string]int64{"a": 2, "b": 4}) {
		t.Errorf("two NodeSets return %v, %v", got, err)
	}
	if got, err := list(""); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("with an unavailable NodeSet the list is %v, %v", got, err)
	}
	if got, err := list("tier=none"); !apierrors.IsNotFound(err) {
		t.Errorf("a selector that matches nothing returns %v, %v", got, err)
	}
}

func TestTheCatalogueIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range New(testDirectory(), Config{}).ListAllMetrics() {
		listed[m.String()] = true
	}
	names := map[string]bool{}
	for _, e := range Catalogue() {
		if names[e.Name] || !strings.HasPrefix(e.Name, "slurm_") || !strings.HasSuffix(e.Help, ".") &&
			!strings.HasSuffix(e.Help, "HPAs.") {
			t.Errorf("the entry %s is a duplicate, or its name or help is invalid", e.Name)
		}
		names[e.Name] = true
		if (e.poolValue == nil) == (e.partitionsValue == nil) {
			t.Errorf("%s has no value function, or two", e.Name)
		}
		for _, on := range e.Resources {
			info := provider.CustomMetricInfo{GroupResource: on.GroupResource, Namespaced: on.Namespaced,
				Metric: e.Name}
			if !listed[info.String()] {
				t.Errorf("%s is not listed", info)
			}
		}
	}
	if len(names) != 19 {
		t.Errorf("there are %d metrics", len(names))
	}
}
