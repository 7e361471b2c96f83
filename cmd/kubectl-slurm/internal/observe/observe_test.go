package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/metricsapi"
)

// newTestAPI returns an API that sends requests to the handler.
func newTestAPI(t *testing.T, handler http.HandlerFunc) *API {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	api, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func writeStatus(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason,
		code, message)
}

func TestListsAreReadPageByPage(t *testing.T) {
	var asked []string
	api := newTestAPI(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("continue") == "" {
			fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a"}}]}`)
			return
		}
		fmt.Fprint(w, `{"metadata":{},"items":[{"metadata":{"name":"b"}}]}`)
	})
	jobs, err := api.Jobs(t.Context(), Scope{Namespace: "hpc", Labels: "user=alice"})
	if err != nil || len(jobs) != 2 || jobs[0].Name != "a" || jobs[1].Name != "b" {
		t.Errorf("%v, %v", jobs, err)
	}
	if len(asked) != 2 || !strings.HasPrefix(asked[0],
		"/apis/view.slinky.slurm.net/v1alpha1/namespaces/hpc/slurmjobs?") ||
		!strings.Contains(asked[1], "labelSelector=user%3Dalice") {
		t.Errorf("requested %q", asked)
	}
}

func TestAnExpiredListIsReadAgain(t *testing.T) {
	api := newTestAPI(t, func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("continue") != "":
			writeStatus(w, http.StatusGone, "Expired", "too old")
		case q.Get("limit") == "":
			fmt.Fprint(w, `{"items":[{},{},{}]}`)
		default:
			fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[{}]}`)
		}
	})
	if nodes, err := api.Nodes(t.Context(), Scope{}); err != nil || len(nodes) != 3 {
		t.Errorf("%d nodes, %v", len(nodes), err)
	}
}

func TestErrorsQuoteTheServerAndSayWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name    string
		code    int
		reason  string
		message string
		want    []string
	}{
		{"no right", 403, "Forbidden", `User "bob" cannot list slurmjobs`,
			[]string{`User "bob" cannot list slurmjobs`, "role slurm-view"}},
		{"not served", 404, "NotFound", "the server could not find the requested resource",
			[]string{"view.enabled=true"}},
		{"not available", 503, "ServiceUnavailable", "Slurm cluster hpc/alpha: read 3m ago",
			[]string{"Slurm cluster hpc/alpha: read 3m ago", "kubectl slurm doctor"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			api := newTestAPI(t, func(w http.ResponseWriter,
				_ *http.Request) {
				writeStatus(w, tc.code, tc.reason, tc.message)
			})
			_, err := api.Jobs(t.Context(), Scope{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if text := ExplainError(View, err); !strings.Contains(text, want) {
					t.Errorf("%q is missing in %q", want, text)
				}
			}
		})
	}
}

func TestServerWarningsAreReturnedOnce(t *testing.T) {
	api := newTestAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "PrivateData hides jobs"`)
		w.Header().Add("Warning", `199 - "of no interest"`)
		fmt.Fprint(w, `{"items":[]}`)
	})
	for range 2 {
		if _, err := api.Jobs(t.Context(), Scope{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := api.TakeWarnings(); len(got) != 1 || got[0] != "PrivateData hides jobs" {
		t.Errorf("the warnings are %q", got)
	}
	if got := api.TakeWarnings(); len(got) != 0 {
		t.Errorf("the later warnings are %q", got)
	}
}

func TestAMetricIsOneNumberWithItsTime(t *testing.T) {
	for _, tc := range []struct {
		name, items string
		ok          bool
	}{
		{"one", `{"value":"5","timestamp":"2030-01-01T00:00:00Z"}`, true},
		{"none", ``, false},
		{"two", `{"value":"5","timestamp":"2030-01-01T00:00:00Z"},{"value":"5","timestamp":"2030-01-01T00:00:00Z"}`,
			false},
		{"without a time", `{"value":"5"}`, false},
		{"negative", `{"value":"-5","timestamp":"2030-01-01T00:00:00Z"}`, false},
	} {
		api := newTestAPI(t, func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprintf(w, `{"items":[%s]}`, tc.items)
		})
		v, err := api.Metric(t.Context(), metricsapi.NodeSets(), "hpc", "gpu", "slurm_nodeset_required_nodes", "")
		if (err == nil) != tc.ok || tc.ok && v.Number != 5 {
			t.Errorf("%s: %v, %v", tc.name, v, err)
		}
	}
}
