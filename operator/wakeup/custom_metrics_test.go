package wakeup

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
)

const (
	metricAnswer = `{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","items":[` + metricItem +
		`]}`
	metricItem = `{"describedObject":{"kind":"NodeSet","namespace":"slurm","name":"gpu","apiVersion":"slinky.slurm.net/v1beta1"},` +
		`"metric":{"name":"slurm_nodeset_required_nodes"},"timestamp":"2026-03-01T12:00:00Z","value":"3"}`
)

func TestCustomMetrics(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   int64
		err    string // part of the error, or empty
		why    string // the text in the condition
	}{
		{"a number", 200, metricAnswer, 3, "", ""},
		{"part of a node is rounded up", 200, strings.Replace(metricAnswer, `"3"`, `"2100m"`, 1), 3, "", ""},
		{"zero", 200, strings.Replace(metricAnswer, `"3"`, `"0"`, 1), 0, "", ""},
		{"below zero", 200, strings.Replace(metricAnswer, `"3"`, `"-1"`, 1), 0, "the value is -1", "no usable answer"},
		{"far below zero", 200, strings.Replace(metricAnswer, `"3"`, `"-20102071111000000000"`, 1), 0,
			"the value is -20102071111G", "no usable answer"},
		{"more than replicas can be", 200, strings.Replace(metricAnswer, `"3"`, `"1e30"`, 1), 0, "more than 2147483647",
			"no usable answer"},
		{"without a value", 200, `{"items":[]}`, 0, "0 values", "no usable answer"},
		{"two values", 200, strings.Replace(metricAnswer, metricItem, metricItem+","+metricItem, 1), 0, "2 values",
			"no usable answer"},
		{"of another NodeSet", 200, strings.Replace(metricAnswer, `"gpu"`, `"cpu"`, 1), 0, `of "cpu"`,
			"no usable answer"},
		{"without a time", 200, strings.Replace(metricAnswer, `"timestamp":"2026-03-01T12:00:00Z",`, "", 1), 0,
			"no time", "no usable answer"},
		{"garbage", 200, "<html>", 0, "decoding", "no usable answer"},
		{"an error inside", 500, "oops", 0, "reading", "no usable answer"},
		{"not found", 404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, 0,
			"reading", "no metrics adapter serves it"},
		{"not allowed", 403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`,
			0, "reading", "may not read it"},
		{"data too old", 503, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}`, 0, "reading", "no fresh value"},
		{"an adapter that does not run", 503, "service unavailable\n", 0, "reading", "no fresh value"},
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
				t.Errorf("it requests %s", path)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("the error is %v", err)
				}
				if got := explainError(err); !strings.Contains(got, tc.why) {
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
	if got := explainError(errors.New("connection refused")); !strings.Contains(got, "no usable answer") {
		t.Errorf("it is explained by %q", got)
	}
}

// FuzzMetricAnswers decodes arbitrary answers: a decoded number is the answer's, rounded up, and is zero only
// if the answer's is.
func FuzzMetricAnswers(f *testing.F) {
	for _, value := range []string{"3", "2100m", "0", "-1", "1e30", "9999999999999999999", "1n", "8Ei", "4294967296",
		"-20102071111000000000"} {
		f.Add([]byte(metricAnswer), value)
	}
	f.Add([]byte(`{"items":[`+metricItem+","+metricItem+`]}`), "1")
	f.Add([]byte(`{"items":null}`), "1")
	far := regexp.MustCompile(`[eE][+-]?[0-9]{4}`) // parsing such an exponent takes too long
	f.Fuzz(func(t *testing.T, body []byte, value string) {
		body = bytes.Replace(body, []byte(`"3"`), []byte(`"`+value+`"`), 1)
		if far.Match(body) {
			return
		}
		n, at, err := decodeMetric(body, "gpu")
		if err != nil {
			if n != 0 || !at.IsZero() {
				t.Errorf("%s is %d of %s, and the error %v", body, n, at, err)
			}
			return
		}
		var list custommetrics.MetricValueList
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatalf("%s is %d, and %v", body, n, err)
		}
		if want := math.Ceil(list.Items[0].Value.AsApproximateFloat64()); at.IsZero() || n < 0 || n > math.MaxInt32 ||
			math.Abs(float64(n)-want) > 1 || n == 0 && !list.Items[0].Value.IsZero() {
			t.Errorf("%s is %d of %s, not %g", body, n, at, want)
		}
	})
}
