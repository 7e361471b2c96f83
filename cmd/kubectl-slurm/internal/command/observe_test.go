package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/doctor"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
)

// observeWithPods reads what the doctor checks in the namespace hpc. pods handles requests for
// pods; the API server has no other objects.
func observeWithPods(t *testing.T, pods http.HandlerFunc) *doctor.Observed {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/namespaces/hpc/pods" {
			pods(w, r)
			return
		}
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(server.Close)
	api, err := observe.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	observed, err := observeAll(t.Context(), api, time.Now(), "hpc")
	if err != nil {
		t.Fatal(err)
	}
	return observed
}

func TestTheDoctorReadsWorkers(t *testing.T) {
	observed := observeWithPods(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("labelSelector"); got != "app.kubernetes.io/name=slurmd" {
			t.Errorf("it requests pods with %q", got)
		}
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"gpu-0"}}]}`)
	})
	if len(observed.Workers) != 1 || observed.Workers[0].Name != "gpu-0" || !observed.Read[doctor.Workers] {
		t.Errorf("it has read %+v", observed.Workers)
	}
}

func TestTheDoctorReportsThatItMayNotListPods(t *testing.T) {
	observed := observeWithPods(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
	})
	if observed.Read[doctor.Workers] {
		t.Error("the workers count as read")
	}
	found := doctor.Examine(*observed, nil).Findings
	if !slices.ContainsFunc(found, func(f doctor.Finding) bool {
		return f.Code == doctor.MissingRight && strings.Contains(f.Problem, "list pods") &&
			strings.Contains(f.Command, "--clusterrole=view")
	}) {
		t.Errorf("found %+v", found)
	}
}
