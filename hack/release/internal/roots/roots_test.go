package roots

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestParseStatus(t *testing.T) {
	text := `Package: slurmd
Status: install ok installed
Architecture: arm64
Source: slurm-wlm
Version: 26.05.5-1
Description: daemon
 Version: of a description

Package: gone
Status: deinstall ok config-files
Version: 1

Package: adduser
Status: install ok installed
Architecture: all
Version: 3.1
`
	want := []Package{{"slurmd", "26.05.5-1", "arm64"}, {"adduser", "3.1", "all"}}
	if got := parseStatus(text); !reflect.DeepEqual(got, want) {
		t.Errorf("parseStatus = %v, want %v", got, want)
	}
}

func TestReachable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/20261130T000000Z/dists/") {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	if err := Reachable(t.Context(), server.Client(), server.URL, "20261130T000000Z"); err != nil {
		t.Errorf("Reachable = %v, want nil", err)
	}
	if err := Reachable(t.Context(), server.Client(), server.URL, "20000101T000000Z"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("Reachable = %v, want an error with 404", err)
	}
}
