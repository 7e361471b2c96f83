// Package contract is what slurmclient promises of every slurmrestd: the same
// tests run against the simulated cluster and, tagged e2e, against real Slurm of
// every release and in every API version.
package contract

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/process"
)

// Server is a slurmrestd in front of a cluster that a test may change: static
// nodes n1 to n4, a default partition batch with all of them, an ordinary user
// alice, user slurm who may do everything, slurmdbd.
type Server struct {
	URL string
	// KeyFile holds the key that tokens are signed with.
	KeyFile string
	// Pass lets some time go by where the cluster has none of its own.
	Pass func()
	// Create makes records of nodes as scontrol create does, in any version.
	Create func(ctx context.Context, conf string) error
}

// suite is one run of the contract.
type suite struct {
	server  Server
	version string
	// client is that of user slurm.
	client *slurmclient.Client
}

// Run runs every test in one API version. The cluster must be idle, and is so at
// the end.
func Run(t *testing.T, server Server, version string) {
	s := &suite{server: server, version: version}
	s.client = s.as(t, "slurm")
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"every list can be read", s.lists},
		{"what does not exist is not found", s.notFound},
		{"tokens that are refused are unauthorised", s.tokens},
		{"what has not changed is unchanged", s.unchanged},
		{"a node that changes is seen behind its gate", s.nodeGate},
		{"a job's life", s.jobLife},
		{"an array", s.array},
		{"held jobs", s.held},
		{"jobs that want nodes for themselves", s.exclusive},
		{"a node's life", s.nodeLife},
		{"ordinary users may not change nodes", s.rights},
		{"dynamic nodes", s.dynamicNodes},
		{"nodes to come are listed beside the others", s.futureRecords},
		{"reservations", s.reservations},
		{"requests that make no sense are invalid", s.invalid},
		{"the same jobs are read by list and by delta", s.readers},
		{"reconfigure", s.reconfigure},
	} {
		t.Run(c.name, c.test)
	}
}

// as returns a client with tokens of a user.
func (s *suite) as(t *testing.T, user string) *slurmclient.Client {
	t.Helper()
	return s.with(t, slurmclient.TokenFromKeyFile(s.server.KeyFile, user, time.Hour))
}

func (s *suite) with(t *testing.T, token slurmclient.TokenSource) *slurmclient.Client {
	t.Helper()
	client, err := slurmclient.New(slurmclient.Config{URL: s.server.URL, Version: s.version, Token: token, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// eventually looks until a condition holds.
func (s *suite) eventually(t *testing.T, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds(ctx)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if ok {
			return
		}
		s.server.Pass()
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// wantCode demands an error of this package with a code.
func wantCode(t *testing.T, what string, err error, want slurmclient.Code) {
	t.Helper()
	var e *slurmclient.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: the error is %v, not one with the code %q", what, err, want)
		return
	}
	if e.Code != want {
		t.Errorf("%s: the code is %q, not %q: %v", what, e.Code, want, err)
	}
}

// supports reports whether an operation exists in this version: its error says
// otherwise.
func supports(err error) bool { return slurmclient.CodeOf(err) != slurmclient.CodeUnsupported }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Offered lists those of the versions that a server serves.
func Offered(ctx context.Context, url string, token slurmclient.TokenSource, versions []string) ([]string, error) {
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
		} else if status(err) != http.StatusNotFound {
			return nil, err
		}
	}
	return out, nil
}

func status(err error) int {
	var e *slurmclient.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}
