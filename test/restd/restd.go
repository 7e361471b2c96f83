// Package restd puts a simulated slurmrestd beside a test, and makes tokens for it.
package restd

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// Key is what the simulated clusters check tokens with.
const Key = "a key for tests that nobody else uses"

// Restd is a simulated slurmrestd that can be stopped and started again.
type Restd struct {
	// Address is HOST:PORT, the same after each start.
	Address string

	cluster *slurmtest.Cluster
	server  *httptest.Server
}

// Start starts one of a cluster, which ends with the test.
func Start(t testing.TB, c *slurmtest.Cluster) *Restd {
	t.Helper()
	r := &Restd{cluster: c, Address: "127.0.0.1:0"}
	r.Start(t)
	t.Cleanup(r.Stop)
	return r
}

// URL is where it answers.
func (r *Restd) URL() string { return "http://" + r.Address }

// Start starts one that was stopped.
func (r *Restd) Start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", r.Address) //nolint:noctx // on loopback, at once
	if err != nil {
		t.Fatal(err)
	}
	r.Address = l.Addr().String()
	r.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r.cluster.Handler(), ReadHeaderTimeout: time.Minute}}
	r.server.Start()
}

// Stop ends it, and the requests under way.
func (r *Restd) Stop() {
	r.HangUp()
	r.server.Close()
}

// HangUp ends the requests under way.
func (r *Restd) HangUp() { r.server.CloseClientConnections() }

// Token is one of user slurm by Key that is good for so long.
func Token(t testing.TB, life time.Duration) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(life).Unix(), "sun": "slurm"}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(Key))
	if err != nil {
		t.Fatal(err)
	}
	return token
}
