package exposition

import (
	"net/http"
	"testing"
)

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
