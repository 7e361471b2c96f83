// Package restd starts a simulated slurmrestd for a test and signs tokens for it.
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

// Key is the key with which the simulated clusters verify tokens.
const Key = "a key for tests that nobody else uses"

// Server is a simulated slurmrestd that can be stopped and started again.
type Server struct {
	// Address is HOST:PORT, the same after each start.
	Address string

	cluster *slurmtest.Cluster
	server  *httptest.Server
}

// Start starts a slurmrestd for the cluster and stops it when the test ends.
func Start(t testing.TB, c *slurmtest.Cluster) *Server {
	t.Helper()
	r := &Server{cluster: c, Address: "127.0.0.1:0"}
	r.Start(t)
	t.Cleanup(r.Stop)
	return r
}

// URL returns the base URL of the server.
func (r *Server) URL() string { return "http://" + r.Address }

// Start starts a stopped server at the same address.
func (r *Server) Start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", r.Address) //nolint:noctx // listening on loopback does not block
	if err != nil {
		t.Fatal(err)
	}
	r.Address = l.Addr().String()
	r.server = &httptest.Server{Listener: l,
		Config: &http.Server{Handler: r.cluster.Handler(), ReadHeaderTimeout: time.Minute}}
	r.server.Start()
}

// Stop stops the server and ends the requests in progress.
func (r *Server) Stop() {
	r.CloseConnections()
	r.server.Close()
}

// CloseConnections ends the requests in progress.
func (r *Server) CloseConnections() { r.server.CloseClientConnections() }

// Token returns a token of user slurm, signed with Key, that expires after life.
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
