package main

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// peerServer is a replica that requires a token and responds with a status.
type peerServer struct {
	*httptest.Server
	asked atomic.Int32
}

func startPeer(t *testing.T, status int, body string) *peerServer {
	t.Helper()
	p := &peerServer{}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer own" || r.URL.Path != "/view/states/x/1" {
			http.Error(w, "who is this?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Location", p.URL+"/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(p.Close)
	return p
}

func peersOf(t *testing.T, servers ...*peerServer) *peers {
	t.Helper()
	// The certificate of httptest is for example.com.
	p := &peers{kube: &rest.Config{Host: "https://kube", BearerToken: "own"}, serverName: "example.com"}
	for _, s := range servers {
		p.addresses = append(p.addresses, strings.TrimPrefix(s.URL, "https://"))
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		p.ca = func() ([]byte, error) { return ca, nil }
	}
	return p
}

func TestTheReplicaThatHasTheStateIsAsked(t *testing.T) {
	gone, has := startPeer(t, http.StatusNotFound, "not here"), startPeer(t, http.StatusOK, "[]")
	got, err := peersOf(t, gone, has).ask(t.Context(), "/view/states/x/1")
	if err != nil || string(got) != "[]" {
		t.Errorf("the response is %q, %v", got, err)
	}
}

func TestNoConnectionToAReplicaStays(t *testing.T) {
	has := startPeer(t, http.StatusOK, "[]")
	p := peersOf(t, has)
	before := runtime.NumGoroutine()
	for range 50 {
		if _, err := p.ask(t.Context(), "/view/states/x/1"); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() < before+10 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("there are %d goroutines after 50 requests, %d before", runtime.NumGoroutine(), before)
}

func TestWithoutAReplicaThatHasTheStateThereIsAnError(t *testing.T) {
	moved := startPeer(t, http.StatusTemporaryRedirect, "")
	dead := startPeer(t, http.StatusOK, "")
	dead.Close()
	_, err := peersOf(t, startPeer(t, http.StatusNotFound, ""), moved, dead).ask(t.Context(), "/view/states/x/1")
	if err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "307") {
		t.Errorf("the error is %v", err)
	}
	if n := moved.asked.Load(); n != 1 {
		t.Errorf("the replica that redirects was asked %d times", n)
	}
	if _, err := (&peers{addresses: []string{"no-such-host.invalid:1"}}).ask(t.Context(), "/"); err == nil {
		t.Error("a name without an address is no error")
	}
}

// TestStrangersGetNoToken: a peer without a certificate of the replicas never receives the token.
func TestStrangersGetNoToken(t *testing.T) {
	for name, change := range map[string]func(*peers){
		"another name":    func(p *peers) { p.serverName = "slurm-metrics.slurm.svc" },
		"another CA":      func(p *peers) { p.ca = func() ([]byte, error) { return []byte(otherCA), nil } },
		"no CA":           func(p *peers) { p.ca = func() ([]byte, error) { return nil, nil } },
		"insecure kube":   func(p *peers) { p.kube.Insecure, p.serverName = true, "slurm-metrics.slurm.svc" },
		"a request ended": func(*peers) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := startPeer(t, http.StatusOK, "[]")
			p := peersOf(t, s)
			change(p)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "a request ended" {
				cancel()
			}
			if _, err := p.ask(ctx, "/view/states/x/1"); err == nil || s.asked.Load() != 0 {
				t.Errorf("the stranger was asked %d times, error %v", s.asked.Load(), err)
			}
		})
	}
}

// otherCA is a CA that signed no certificate of a replica.
const otherCA = `-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUUC4v0afXBFeo+A6ysYFQMCzwmhQwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTI5MTk1NDU4WhgPMjEyNjExMDUxOTU0
NThaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
ha3uCXof3cun0vhySty7mihz1SE4dx30wEuErLV4clzO9Dm36LF5H3seSXB2knW6
MEFujMIcKJ53DyTT6qS8yaNTMFEwHQYDVR0OBBYEFCXFMNjvdscFeTf5x5IqpP9N
Y1X1MB8GA1UdIwQYMBaAFCXFMNjvdscFeTf5x5IqpP9NY1X1MA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAM3eP4VJaCsWf0cpYTqtkAmgQ/hBvJnE
N3nROaQCiKrKAiBRKE7P1BVtvfXoiunoGOAen2N0zQQTgwDP8gHeV2XBvA==
-----END CERTIFICATE-----
`
