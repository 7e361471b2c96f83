package distance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestARoundTripTakesTwiceTheDelay: of a request on a connection that is open.
func TestARoundTripTakesTwiceTheDelay(t *testing.T) {
	const delay = 30 * time.Millisecond
	body := strings.Repeat("x", 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer server.Close()
	address, err := Listen(t.Context(), server.Listener.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	shortest := time.Hour
	for range 5 {
		begin := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		if err != nil || string(text) != body {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		_ = got.Body.Close()
		shortest = min(shortest, time.Since(begin))
	}
	if shortest < 2*delay || shortest > 10*delay {
		t.Errorf("a round trip takes %v", shortest)
	}
}
