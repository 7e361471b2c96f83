package wakeup

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	answer = `{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","items":[` + item + `]}`
	item   = `{"describedObject":{"kind":"NodeSet","namespace":"slurm","name":"gpu","apiVersion":"slinky.slurm.net/v1beta1"},` +
		`"metric":{"name":"slurm_nodeset_required_nodes"},"timestamp":"2026-03-01T12:00:00Z","value":"3"}`
)

func TestCustomMetrics(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   int64
		err    string // part of the error, empty for none
		why    string // what the condition makes of it
	}{
		{"a number", 200, answer, 3, "", ""},
		{"part of a node is a node", 200, strings.Replace(answer, `"3"`, `"2100m"`, 1), 3, "", ""},
		{"zero", 200, strings.Replace(answer, `"3"`, `"0"`, 1), 0, "", ""},
		{"below zero", 200, strings.Replace(answer, `"3"`, `"-1"`, 1), 0, "the value is -1", "no answer that can be used"},
		{"without a value", 200, `{"items":[]}`, 0, "0 values", "no answer that can be used"},
		{"two values", 200, strings.Replace(answer, item, item+","+item, 1), 0, "2 values", "no answer that can be used"},
		{"of another NodeSet", 200, strings.Replace(answer, `"gpu"`, `"cpu"`, 1), 0, `of "cpu"`, "no answer that can be used"},
		{"without a time", 200, strings.Replace(answer, `"timestamp":"2026-03-01T12:00:00Z",`, "", 1), 0, "no time", "no answer that can be used"},
		{"garbage", 200, "<html>", 0, "decoding", "no answer that can be used"},
		{"an error inside", 500, "oops", 0, "reading", "no answer that can be used"},
		{"not found", 404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, 0, "reading", "no metrics adapter serves it"},
		{"not allowed", 403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, 0, "reading", "may not read it"},
		{"data too old", 503, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}`, 0, "reading", "no fresh value"},
		{"an adapter that is not there", 503, "service unavailable\n", 0, "reading", "no fresh value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var path string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path = r.URL.Path
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			demand, err := NewCustomMetrics(&rest.Config{Host: server.URL}, server.Client())
			if err != nil {
				t.Fatal(err)
			}
			n, at, err := demand.RequiredNodes(t.Context(), "slurm", "gpu")
			if want := "/apis/custom.metrics.k8s.io/v1beta2/namespaces/slurm/nodesets.slinky.slurm.net/gpu/slurm_nodeset_required_nodes"; path != want {
				t.Errorf("it asks for %s", path)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("the error is %v", err)
				}
				if got := explain(err); !strings.Contains(got, tc.why) {
					t.Errorf("it is explained by %q", got)
				}
				return
			}
			if err != nil || n != tc.want || !at.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
				t.Errorf("got %d of %s, %v", n, at, err)
			}
		})
	}
}

func TestCustomMetricsWithoutAServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	demand, err := NewCustomMetrics(&rest.Config{Host: server.URL}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := demand.RequiredNodes(t.Context(), "slurm", "gpu"); err == nil {
		t.Errorf("got %d", n)
	}
	if got := explain(errors.New("connection refused")); !strings.Contains(got, "no answer") {
		t.Errorf("it is explained by %q", got)
	}
}
