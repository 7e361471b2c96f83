package convert

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// The fields of records that the view does not carry.
var (
	jobFieldsNotCarried = []string{
		"AssociationID", "HetJobIDs", "AccrueTime", "Prefer", "TasksPerNode", "MinCPUsPerNode", "MinTmpDiskMiB", "ThreadsPerCore",
		"Contiguous", "GRESAllocated", "MemoryPerTRES", "Siblings", "Network", "Flags",
	}
	nodeFieldsNotCarried = []string{
		"Port", "Boards", "Sockets", "CoresPerSocket", "ThreadsPerCore", "SpecializedMemoryMiB", "NextState",
	}
	partitionFieldsNotCarried = []string{
		"MaxCPUsPerNode", "OversubscribeJobs", "MaxMemoryPerNode", "MaxMemoryPerCPU", "DefaultMemoryPerNode",
		"DefaultMemoryPerCPU", "OverTimeLimit", "GraceTime", "JobFactor", "Alternate", "AllowAllocNodes",
		"JobDefaults", "SuspendTimeout", "ResumeTimeout",
	}
	// limitFields are the numbers whose infinite the view carries.
	limitFields = map[string]bool{"TimeLimit": true, "MaxTime": true, "DefaultTime": true}
)

// records are the records of one cluster.
type records struct {
	jobs       []*slurm.Job
	nodes      []*slurm.Node
	partitions []*slurm.Partition
}

func TestRecordsAreTheSameAfterConversionThereAndBack(t *testing.T) {
	clusters := map[string]records{"simulated": readRecords(t, simulatedCluster(), "")}
	folders, err := filepath.Glob("../../../slurmclient/testdata/recorded/*/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("there are %d recordings, %v", len(folders), err)
	}
	for _, folder := range folders {
		version := filepath.Base(folder)
		clusters[filepath.ToSlash(folder)] = readRecords(t, recordedCluster(folder, version), version)
	}
	for name, c := range clusters {
		t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), func(t *testing.T) {
			if len(c.jobs) == 0 || len(c.nodes) == 0 || len(c.partitions) == 0 {
				t.Fatalf("%d jobs, %d nodes, %d partitions", len(c.jobs), len(c.nodes), len(c.partitions))
			}
			for _, j := range c.jobs {
				checkRoundTrip(t, j, jobFieldsNotCarried, jobObject, JobRecord)
			}
			for _, n := range c.nodes {
				checkRoundTrip(t, n, nodeFieldsNotCarried, nodeObject, NodeRecord)
			}
			for _, p := range c.partitions {
				checkRoundTrip(t, p, partitionFieldsNotCarried, partitionObject, PartitionRecord)
			}
		})
	}
}

// TestTheViewLacksOnlyTheListedFields sets every field of a record, so that a new field must either
// be converted or be listed.
func TestTheViewLacksOnlyTheListedFields(t *testing.T) {
	checkFieldsNotCarried(t, jobFieldsNotCarried, jobObject, JobRecord)
	checkFieldsNotCarried(t, nodeFieldsNotCarried, nodeObject, NodeRecord)
	checkFieldsNotCarried(t, partitionFieldsNotCarried, partitionObject, PartitionRecord)
}

func jobObject(j *slurm.Job) *v1alpha1.SlurmJob {
	return JobObject(metav1.ObjectMeta{}, v1alpha1.ClusterReference{}, j)
}

func nodeObject(n *slurm.Node) *v1alpha1.SlurmNode {
	return NodeObject(metav1.ObjectMeta{}, v1alpha1.ClusterReference{}, n)
}

func partitionObject(p *slurm.Partition) *v1alpha1.SlurmPartition {
	return PartitionObject(metav1.ObjectMeta{}, v1alpha1.ClusterReference{}, p)
}

// checkRoundTrip converts a record to an object, to a record and to an object.
func checkRoundTrip[R, O any](t *testing.T, r *R, notCarried []string, object func(*R) *O, record func(*O) *R) {
	t.Helper()
	o := object(r)
	got := record(o)
	if diff := cmp.Diff(carriedPart(*r, notCarried), *got); diff != "" {
		t.Errorf("the record differs:\n%s", diff)
	}
	if diff := cmp.Diff(o, object(got)); diff != "" {
		t.Errorf("the object differs:\n%s", diff)
	}
}

// carriedPart returns the record as the view can carry it: without the fields that it does not
// have, unset values and Slurm's placeholders, and with loads in hundredths.
func carriedPart[R any](r R, notCarried []string) R {
	if j, ok := any(&r).(*slurm.Job); ok {
		j.EditOwner(func(o *slurm.JobOwner) { clearNotCarried(reflect.ValueOf(o).Elem(), notCarried) })
		j.EditDetails(func(d *slurm.JobDetails) { clearNotCarried(reflect.ValueOf(d).Elem(), notCarried) })
	}
	clearNotCarried(reflect.ValueOf(&r).Elem(), notCarried)
	return r
}

func clearNotCarried(v reflect.Value, notCarried []string) {
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if slices.Contains(notCarried, name) {
			field.SetZero()
		}
		if name == "_" {
			continue
		}
		switch value := field.Interface().(type) {
		case slurm.Number:
			isLimit := limitFields[name] || isPartitionLimit(v, name)
			if n, ok := value.Value(); !ok && !(value.IsInfinite() && isLimit) || ok && n == 0 && name == "MaxNodes" && !isLimit {
				field.SetZero() // as a number of nodes, 0 is no maximum
			}
		case slurm.Float:
			n, ok := value.Value()
			if field.SetZero(); ok {
				hundredths, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'f', 2, 64), 64)
				field.Set(reflect.ValueOf(slurm.Flt(hundredths)))
			}
		case slurm.Time:
			if value == slurm.Never {
				field.SetZero()
			}
		case string:
			if (name == "GRES" || name == "GRESUsed" || name == "Owner") && (value == "(null)" || value == "N/A") {
				field.SetString("")
			}
		}
	}
}

func isPartitionLimit(v reflect.Value, name string) bool {
	return v.Type() == reflect.TypeFor[slurm.Partition]() && name == "MaxNodes"
}

func checkFieldsNotCarried[R, O any](t *testing.T, listed []string, object func(*R) *O, record func(*O) *R) {
	t.Helper()
	var r R
	if j, ok := any(&r).(*slurm.Job); ok {
		j.EditOwner(func(o *slurm.JobOwner) { fillFields(t, reflect.ValueOf(o).Elem()) })
		j.EditDetails(func(d *slurm.JobDetails) { fillFields(t, reflect.ValueOf(d).Elem()) })
	}
	fillFields(t, reflect.ValueOf(&r).Elem())
	got := record(object(&r))
	lost := differentFields(reflect.ValueOf(r), reflect.ValueOf(*got))
	if j, ok := any(&r).(*slurm.Job); ok {
		k := any(got).(*slurm.Job)
		lost = append(lost, differentFields(reflect.ValueOf(j.Owner()), reflect.ValueOf(k.Owner()))...)
		lost = append(lost, differentFields(reflect.ValueOf(j.Details()), reflect.ValueOf(k.Details()))...)
	}
	slices.Sort(lost)
	listed = slices.Sorted(slices.Values(listed))
	if diff := cmp.Diff(listed, lost); diff != "" {
		t.Errorf("%T: fields that the view does not carry:\n%s", r, diff)
	}
}

// differentFields returns the names of the fields in which two structs differ, without those that jobs share.
func differentFields(v, w reflect.Value) (names []string) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.Anonymous && f.Name != "_" && !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
			names = append(names, f.Name)
		}
	}
	return names
}

// fillFields sets the fields of a struct, but for those that jobs share.
func fillFields(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.Anonymous && f.Name != "_" {
			fillField(t, f.Name, v.Field(i))
		}
	}
}

// fillField sets a field to a value other than zero.
func fillField(t *testing.T, name string, field reflect.Value) {
	t.Helper()
	var value any
	switch field.Interface().(type) {
	case slurm.Number:
		value = slurm.Num(7)
	case slurm.Float:
		value = slurm.Flt(0.25)
	case slurm.JobState:
		value = slurm.ParseJobState("RUNNING", "COMPLETING")
	case slurm.NodeState:
		value = slurm.ParseNodeState("MIXED", "DRAIN")
	case []string:
		value = []string{"a", "b"}
	case bool:
		value = true
	case slurm.Time:
		value = slurm.Time(1_800_000_000)
	default:
		switch {
		case field.Kind() == reflect.String:
			field.SetString("a,b")
		case field.CanUint():
			field.SetUint(7)
		case field.CanInt():
			field.SetInt(7)
		default:
			t.Fatalf("%s has a type that is not filled: %s", name, field.Type())
		}
		return
	}
	field.Set(reflect.ValueOf(value))
}

func simulatedCluster() http.Handler {
	at := time.Unix(1_800_000_000, 0)
	return slurmtest.NewSized(func() time.Time { return at }, 40, 200).Handler()
}

// recordedCluster answers with the recorded lists.
func recordedCluster(folder, version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/slurm/"+version+"/"), "/")
		answer, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

func readRecords(t *testing.T, h http.Handler, version string) records {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Version: version,
		Token: slurmclient.TokenFromKey([]byte("any"), "root", time.Hour, time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	jobs, err := client.Jobs(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.Nodes(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	partitions, err := client.Partitions(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	return records{jobs.Items, nodes.Items, partitions.Items}
}
