package slurmclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// Anybody who may set the URL can send requests to a server that is not a slurmrestd. Errors must not
// show them its answers.
func TestErrorsDoNotQuoteAForeignServer(t *testing.T) {
	const secret = "role-credentials-7"
	for _, tc := range []struct {
		name, kind, body string
		status           int
	}{
		{"text", "text/plain", secret, http.StatusForbidden},
		{"text that is fine", "text/plain", secret, http.StatusOK},
		{"a page", "text/html", "<html>" + secret, http.StatusInternalServerError},
		{"JSON", "application/json", `{"error":"` + secret + `"}`, http.StatusBadGateway},
		{"JSON with a list of errors", "application/json", `{"errors":[{"error":"` + secret + `","description":"` + secret + `"}]}`, http.StatusInternalServerError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			client, err := slurmclient.New(slurmclient.Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.Ping(t.Context()); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
