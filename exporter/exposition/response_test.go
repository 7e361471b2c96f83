package exposition

import (
	"net/http"
	"testing"
)

func TestNegotiateFormat(t *testing.T) {
	const (
		protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
		open     = "application/openmetrics-text;version=1.0.0"
		text     = "text/plain;version=0.0.4"
	)
	for _, tc := range []struct {
		name, accept string
		want         Format
	}{
		{"no header", "", textFormat},
		{"curl", "*/*", textFormat},
		{"a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", textFormat},
		{"Prometheus 3", open + ";escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
			"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3," + text + ";q=0.2,*/*;q=0.1", openMetricsFormat},
		{"Prometheus 3 that scrapes native histograms", protobuf + ";q=0.6," + open + ";escaping=allow-utf-8;q=0.5," +
			text + ";q=0.2,*/*;q=0.1", protobufFormat},
		{"protobuf with allowed UTF-8 names", protobuf + ";escaping=allow-utf-8;q=0.6," + text + ";q=0.2", protobufFormat},
		{"Telegraf", protobuf + ";q=0.7," + text + ";q=0.3", protobufFormat},
		{"protobuf after text", text + "," + protobuf + ";q=0.5", textFormat},
		{"protobuf after OpenMetrics", open + ";q=0.6," + protobuf + ";q=0.5", openMetricsFormat},
		{"protobuf as text", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text", textFormat},
		{"another protobuf message", "application/vnd.google.protobuf;proto=other;encoding=delimited", textFormat},
		{"any application", "application/*", textFormat},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := NegotiateFormat(http.Header{"Accept": {tc.accept}}, false); got == protobufFormat {
				t.Error("protobuf that is not offered")
			}
			if got := NegotiateFormat(http.Header{"Accept": {tc.accept}}, true); got != tc.want {
				t.Errorf("NegotiateFormat(%q) = %v, want %v", tc.accept, got, tc.want)
			}
		})
	}
}

func TestAcceptEncoding(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "gzip;q=0": false, "br": false, "*": true, "br, gzip; q=0.5": true, "identity": false,
		"gzip;q=x": false,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {header}}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}
