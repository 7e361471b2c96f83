package configagent

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestStatusReaderFollowsNoRedirect: otherwise the owner of a pod could choose what the operator reads.
func TestStatusReaderFollowsNoRedirect(t *testing.T) {
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = w.Write([]byte(`{"wanted":"1"}`))
	}))
	defer elsewhere.Close()
	pod := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer pod.Close()
	reader := NewStatusReader(time.Minute)
	reader.client.Transport = toServer{pod.Listener.Addr().String()}
	if got, err := reader.Read(t.Context(), "10.0.0.7"); err == nil || !strings.Contains(err.Error(), "302") || asked {
		t.Errorf("it returns %+v, %v; it asked elsewhere: %t", got, err, asked)
	}
}

// toServer sends requests for pods to a server.
type toServer struct{ address string }

func (s toServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Hostname() == "10.0.0.7" {
		req = req.Clone(req.Context())
		req.URL.Host = s.address
	}
	return http.DefaultTransport.RoundTrip(req)
}

// TestLongErrorsFitIntoTheStatus: Slurm quotes lines of any length, and the operator reads maxStatusSize.
func TestLongErrorsFitIntoTheStatus(t *testing.T) {
	long := "line 7: " + strings.Repeat("\x01<&", 100_000)
	for _, err := range []error{&RefusedError{long}, &HeldError{"PartitionInUse", long}} {
		text, failed := json.Marshal(newStatus(inForce{}, attempt{err: err}))
		if failed != nil || len(text) > maxStatusSize || !strings.Contains(string(text), "line 7") {
			t.Errorf("the status has %d bytes, and the operator reads %d: %v", len(text), maxStatusSize, failed)
		}
	}
}
