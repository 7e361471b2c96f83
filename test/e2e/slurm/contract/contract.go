// Package contract tests what slurmclient promises about every slurmrestd. The same tests run
// against the simulated cluster and, with build tag e2e, against real Slurm in every release and
// API version.
package contract

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// Server is a slurmrestd of a cluster that tests may change. The cluster has static nodes n1 to n4,
// a default partition batch with all of them, ordinary users alice and carol, administrator slurm,
// and slurmdbd.
type Server struct {
	URL string
	// KeyFile contains the key that signs tokens.
	KeyFile string
	// Advance advances the cluster's time if the cluster does not follow the clock.
	Advance func()
	// CreateNodes creates node records as "scontrol create" does, in any API version.
	CreateNodes func(ctx context.Context, conf string) error
}

// suite is one run of the contract.
type suite struct {
	server  Server
	version string
	// client authenticates as user slurm.
	client *slurmclient.Client
}

// Run runs every test in one API version. The cluster must be idle, and it is idle again at the
// end.
func Run(t *testing.T, server Server, version string) {
	s := &suite{server: server, version: version}
	s.client = s.clientAs(t, "slurm")
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"every list can be read", s.testLists},
		{"unknown objects are not found", s.testNotFound},
		{"refused tokens are unauthorized", s.testTokens},
		{"unchanged lists are reported as unchanged", s.testUnchanged},
		{"a changed node is in the list since update_time", s.testNodeGate},
		{"a job's life", s.testJobLife},
		{"an array", s.testArray},
		{"held jobs", s.testHeldJob},
		{"exclusive jobs", s.testExclusiveJob},
		{"a node's life", s.testNodeLife},
		{"ordinary users may not change nodes", s.testOrdinaryUser},
		{"dynamic nodes", s.testDynamicNodes},
		{"FUTURE nodes are listed with the others", s.testFutureRecords},
		{"reservations", s.testReservations},
		{"malformed requests are invalid", s.testInvalidRequests},
		{"list and delta readers read the same jobs", s.testJobReaders},
		{"reconfigure", s.testReconfigure},
	} {
		t.Run(c.name, c.test)
	}
}

// clientAs returns a client with tokens of a user.
func (s *suite) clientAs(t *testing.T, user string) *slurmclient.Client {
	t.Helper()
	return s.clientWith(t, slurmclient.TokenFromKeyFile(s.server.KeyFile, user, time.Hour))
}

func (s *suite) clientWith(t *testing.T, token slurmclient.TokenSource) *slurmclient.Client {
	t.Helper()
	client, err := slurmclient.New(slurmclient.Config{URL: s.server.URL, Version: s.version, Token: token,
		Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// eventually polls until a condition holds, for at most process.Patience.
func (s *suite) eventually(t *testing.T, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	process.Await(t, func() error {
		ok, err := holds(t.Context())
		if err != nil || ok {
			return err
		}
		s.server.Advance()
		return errors.New("timed out waiting for " + what)
	})
}

// wantCode requires a *slurmclient.Error with the given code.
func wantCode(t *testing.T, what string, err error, want slurmclient.Code) {
	t.Helper()
	var e *slurmclient.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: error %v has no code, want %q", what, err, want)
		return
	}
	if e.Code != want {
		t.Errorf("%s: code %q, want %q: %v", what, e.Code, want, err)
	}
}

// isSupported reports whether the operation that returned err exists in this API version.
func isSupported(err error) bool { return slurmclient.CodeOf(err) != slurmclient.CodeUnsupported }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ServedVersions returns the given versions that the server serves.
func ServedVersions(ctx context.Context, url string, token slurmclient.TokenSource, versions []string) (
	[]string, error) {
	var out []string
	for _, v := range versions {
		client, err := slurmclient.New(slurmclient.Config{URL: url, Version: v, Token: token})
		if err != nil {
			return nil, err
		}
		_, err = client.Stats(ctx)
		client.Close()
		if err == nil {
			out = append(out, v)
		} else if httpStatusOf(err) != http.StatusNotFound {
			return nil, err
		}
	}
	return out, nil
}

func httpStatusOf(err error) int {
	var e *slurmclient.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}
