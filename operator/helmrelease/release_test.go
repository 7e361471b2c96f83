package helmrelease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/claims"
)

// env is a store with the release "slurm", in which an operator removes finalizers after some reads.
type env struct {
	Release
	// events are the deletions and the disappeared objects, in order.
	events []string
	lines  []string
	// looks is how many lists an object survives its deletion.
	looks int
}

func newEnv(t *testing.T, objects ...client.Object) *env {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	utilruntime.Must(coordinationv1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(batchv1.AddToScheme(scheme))
	e := &env{looks: 2}
	age := map[string]int{}
	inner := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	e.Client = interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			for _, o := range objects {
				into := o.DeepCopyObject().(client.Object) //nolint:errcheck // it is one
				if c.Get(ctx, client.ObjectKeyFromObject(o), into) != nil || into.GetDeletionTimestamp().IsZero() {
					continue
				}
				if age[o.GetName()]++; age[o.GetName()] > e.looks {
					into.SetFinalizers(nil)
					if err := c.Update(ctx, into); err != nil {
						return err
					}
					e.events = append(e.events, o.GetName()+" is gone")
				}
			}
			return c.List(ctx, list, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			e.events = append(e.events, "delete "+o.GetName())
			return c.Delete(ctx, o, options...)
		},
	})
	if err := inner.Create(t.Context(), leaseOfOperator(time.Now())); err != nil {
		t.Fatal(err)
	}
	e.Name, e.Namespace, e.Interval = "slurm", "team", time.Millisecond
	e.Logf = func(format string, args ...any) { e.lines = append(e.lines, fmt.Sprintf(format, args...)) }
	return e
}

// leaseOfOperator returns the Lease with which an operator manages the namespace "team".
func leaseOfOperator(renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: claims.LeaseName},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("team"), RenewTime: &metav1.MicroTime{Time: renewed}}}
}

// recordOf returns Helm's record of a revision of the release.
func recordOf(revision int, status string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: RecordName("slurm", revision),
		Labels: map[string]string{"owner": "helm", "status": status}}}
}

// of marks an object as one of a Helm release in namespace "team".
func of[T client.Object](release string, o T, name, finalizer string) T {
	o.SetNamespace("team")
	o.SetName(name)
	o.SetUID("uid")
	o.SetFinalizers([]string{finalizer})
	if release != "" {
		o.SetAnnotations(map[string]string{releaseName: release, releaseNamespace: "team"})
	}
	return o
}

func nodeSet(release, name string) *v1beta1.NodeSet {
	n := of(release, &v1beta1.NodeSet{}, name, v1beta1.FinalizerDrain)
	n.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionDraining, Status: metav1.ConditionTrue,
		Message: "gpu-0: job 7 is running on it"}}
	return n
}

func controller(release, name string) *v1beta1.Controller {
	return of(release, &v1beta1.Controller{}, name, v1beta1.FinalizerSlurmctld)
}

func TestControllersGoWhenTheirNodeSetsAreGone(t *testing.T) {
	e := newEnv(t, controller("slurm", "main"), nodeSet("slurm", "cpu"), nodeSet("slurm", "gpu"))
	if err := e.DeleteClusters(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"delete cpu", "delete gpu", "cpu is gone", "gpu is gone", "delete main", "main is gone"}
	if !slices.Equal(e.events, want) {
		t.Errorf("%q, want %q", e.events, want)
	}
}

func TestObjectsOfOthersKeepTheOperator(t *testing.T) {
	for title, other := range map[string]client.Object{
		"of nobody": nodeSet("", "mine"), "of another release": nodeSet("other", "mine"),
		"a Controller": controller("other", "mine"),
	} {
		t.Run(title, func(t *testing.T) {
			e := newEnv(t, nodeSet("slurm", "cpu"), other)
			err := e.DeleteClusters(t.Context())
			if err == nil || !strings.Contains(err.Error(), "team/mine") || len(e.events) > 0 {
				t.Errorf("%v, %q", err, e.events)
			}
		})
	}
	e := newEnv(t, nodeSet("slurm", "cpu"), nodeSet("other", "mine"))
	e.Namespaces = []string{"elsewhere"}
	if err := e.DeleteClusters(t.Context()); err != nil || len(e.events) > 0 {
		t.Errorf("in a namespace that the operator does not manage: %v, %q", err, e.events)
	}
}

func TestRemovalWaitsForJobsAndNamesThem(t *testing.T) {
	e := newEnv(t, nodeSet("slurm", "cpu"))
	e.looks = 1 << 30
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("interrupted"))
	defer cancel()
	err := e.DeleteClusters(ctx)
	if err == nil || err.Error() != "waiting for NodeSet team/cpu: interrupted" {
		t.Error(err)
	}
	want := "NodeSet team/cpu is being deleted: gpu-0: job 7 is running on it"
	if n := len(slices.DeleteFunc(e.lines, func(line string) bool { return line != want })); n != 1 {
		t.Errorf("it is said %d times, not once", n)
	}
	if !slices.Equal(e.events, []string{"delete cpu"}) {
		t.Errorf("%q", e.events)
	}
}

// TestTheHookEndsWhenTheReleaseIsBack: Helm leaves the Job when it gives up, and the release is rolled back, or installed again.
func TestTheHookEndsWhenTheReleaseIsBack(t *testing.T) {
	for name, change := range map[string]func(*env) error{
		"rolled back": func(e *env) error { return e.Client.Create(context.Background(), recordOf(4, "deployed")) },
		"gone":        func(e *env) error { return e.Client.Delete(context.Background(), recordOf(3, "")) },
		"installed again": func(e *env) error {
			if err := e.Client.Delete(context.Background(), recordOf(3, "")); err != nil {
				return err
			}
			return e.Client.Create(context.Background(), recordOf(3, "deployed"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, nodeSet("slurm", "cpu"), controller("slurm", "main"))
			e.Revision, e.looks = 3, 1<<30
			if err := e.Client.Create(t.Context(), recordOf(3, "uninstalling")); err != nil {
				t.Fatal(err)
			}
			logf := e.Logf
			e.Logf = func(format string, args ...any) {
				if logf(format, args...); strings.HasPrefix(format, "deleting") {
					if err := change(e); err != nil {
						t.Error(err)
					}
				}
			}
			err := e.DeleteClusters(t.Context())
			if err == nil || !strings.Contains(err.Error(), "not being removed any more") || slices.Contains(e.events, "delete main") {
				t.Errorf("%v, %q", err, e.events)
			}
		})
	}
	e := newEnv(t, nodeSet("slurm", "cpu")) // the Job of a removal long ago
	e.Revision = 3
	if err := e.Client.Create(t.Context(), recordOf(3, "deployed")); err != nil {
		t.Fatal(err)
	}
	if err := e.DeleteClusters(t.Context()); err == nil || len(e.events) > 0 {
		t.Errorf("%v, %q", err, e.events)
	}
	e = newEnv(t, nodeSet("slurm", "cpu")) // revision 5 is a rollback to 3, and has the arguments of 3
	e.Revision = 3
	for revision, status := range map[int]string{3: "superseded", 4: "superseded", 5: "uninstalling"} {
		if err := e.Client.Create(t.Context(), recordOf(revision, status)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.DeleteClusters(t.Context()); err != nil || len(e.events) != 2 {
		t.Errorf("%v, %q", err, e.events)
	}
	e = newEnv(t, nodeSet("slurm", "cpu")) // Argo CD has no records
	e.Revision = 1
	if err := e.DeleteClusters(t.Context()); err != nil || len(e.events) != 2 {
		t.Errorf("%v, %q", err, e.events)
	}
}

// TestTheHookSparesWhatIsNewerThanItsJob: the Job of an abandoned removal runs late. The release was installed again, and its records
// have other numbers, or are elsewhere.
func TestTheHookSparesWhatIsNewerThanItsJob(t *testing.T) {
	begin := time.Now().Add(-time.Hour)
	for name, tc := range map[string]struct {
		created time.Time
		hasJob  bool
		deletes bool
	}{
		"older":           {begin.Add(-time.Hour), true, true},
		"newer":           {begin.Add(time.Minute), true, false},
		"the Job is gone": {begin.Add(-time.Hour), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodeSet("slurm", "cpu")
			n.CreationTimestamp = metav1.NewTime(tc.created)
			e := newEnv(t, n)
			e.Revision, e.Job, e.OperatorNamespace = 5, "slurm-delete-clusters", "team"
			if tc.hasJob {
				if err := e.Client.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: e.Job,
					CreationTimestamp: metav1.NewTime(begin)}}); err != nil {
					t.Fatal(err)
				}
			}
			err := e.DeleteClusters(t.Context())
			if refused := (*RefusedError)(nil); errors.As(err, &refused) == tc.deletes || (len(e.events) > 0) != tc.deletes {
				t.Errorf("%v, %q", err, e.events)
			}
		})
	}
}

// TestTheHookTriesAgain: an API server may be replaced while jobs run for days.
func TestTheHookTriesAgain(t *testing.T) {
	e := newEnv(t, nodeSet("slurm", "cpu"))
	failures := 0
	inner, ok := e.Client.(client.WithWatch)
	if !ok {
		t.Fatal("it is another client")
	}
	e.Client = interceptor.NewClient(inner, interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object,
		options ...client.DeleteOption) error {
		if failures++; failures < 5 {
			return errors.New("connection refused")
		}
		return c.Delete(ctx, o, options...)
	}})
	if err := e.DeleteClusters(t.Context()); err != nil || failures != 5 {
		t.Errorf("after %d requests: %v", failures, err)
	}
}

// TestOthersWithAnOperatorOfTheirOwn do not keep this one: the operator in namespace "team" manages them.
func TestOthersWithAnOperatorOfTheirOwn(t *testing.T) {
	other := nodeSet("other", "mine")
	for holder, isRefused := range map[string]bool{"team": true, "ops": false} {
		e := newEnv(t, nodeSet("slurm", "cpu"), other.DeepCopy())
		e.OperatorNamespace = holder
		if err := e.DeleteClusters(t.Context()); (err != nil) != isRefused {
			t.Errorf("the operator in %s: %v", holder, err)
		}
	}
}

// TestTheHookEndsWhereNoOperatorRuns: the finalizers would stay forever.
func TestTheHookEndsWhereNoOperatorRuns(t *testing.T) {
	e := newEnv(t, nodeSet("slurm", "cpu"))
	e.looks = 1 << 30
	if err := errors.Join(e.Client.Delete(t.Context(), leaseOfOperator(time.Time{})),
		e.Client.Create(t.Context(), leaseOfOperator(time.Now().Add(-5*time.Minute)))); err != nil {
		t.Fatal(err)
	}
	err := e.DeleteClusters(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no operator runs") || !strings.Contains(err.Error(), "helm uninstall slurm --no-hooks --namespace team") {
		t.Error(err)
	}
	if len(e.events) != 1 { // of the Lease
		t.Errorf("%q", e.events)
	}
}

// withReady sets the condition Ready of an object of generation 2.
func withReady(n *v1beta1.NodeSet, observed int64, status metav1.ConditionStatus, reason string) *v1beta1.NodeSet {
	n.Generation = 2
	n.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: status, Reason: reason,
		ObservedGeneration: observed, Message: "it is " + reason}}
	return n
}

func TestAwaitReady(t *testing.T) {
	for _, tc := range []struct {
		name    string
		objects []client.Object
		problem string
		line    string
	}{
		{"Ready", []client.Object{withReady(nodeSet("slurm", "cpu"), 2, metav1.ConditionTrue, "Available")}, "",
			"NodeSet team/cpu is Ready"},
		{"elsewhere", []client.Object{withReady(nodeSet("slurm", "cpu"), 2, metav1.ConditionUnknown, "External")}, "",
			"NodeSet team/cpu is Ready"},
		{"False", []client.Object{withReady(nodeSet("slurm", "cpu"), 2, metav1.ConditionFalse, "Progressing")},
			"waiting for NodeSet team/cpu", "NodeSet team/cpu is not Ready (Progressing): it is Progressing"},
		{"of an older spec", []client.Object{withReady(nodeSet("slurm", "cpu"), 1, metav1.ConditionTrue, "Available")},
			"waiting for NodeSet team/cpu", "NodeSet team/cpu is not Ready: the operator has not looked at it yet"},
		{"one of two", []client.Object{withReady(nodeSet("slurm", "cpu"), 2, metav1.ConditionTrue, "Available"),
			controller("slurm", "main")}, "waiting for Controller team/main",
			"Controller team/main is not Ready: the operator has not looked at it yet"},
		{"of another release", []client.Object{withReady(nodeSet("other", "cpu"), 2, metav1.ConditionTrue, "Available")},
			"no custom resources", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t, tc.objects...)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := e.AwaitReady(ctx)
			if (err != nil) != (tc.problem != "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Error(err)
			}
			if got := strings.Join(e.lines, "|"); got != tc.line {
				t.Errorf("it says %q, want %q", got, tc.line)
			}
		})
	}
}
