package process

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Start starts a program and stops it at the end of the test, which fails if the program exits
// with an error. If the test has failed, the program's output is logged.
func Start(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	p, err := Launch(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.done: // the test has stopped it
		default:
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.Logf("%s wrote:\n%s", p.name(), p.Log())
		}
	})
	return p
}

// Patience is how long a test waits for a result, however slow or busy the machine is. A test
// that succeeds never takes so long; benchmarks measure speed.
const Patience = 4 * time.Minute

// Await tries ten times a second until there is no error, and fails the test with the
// last error when Patience has passed.
func Await(t testing.TB, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no success within %v: %v", Patience, err)
		}
	}
}

// CheckOK returns an error unless a GET of the URL returns status 200.
func CheckOK(url string) error {
	r, err := http.Get(url) //nolint:noctx,gosec // a test's own server
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: status %s", url, r.Status)
	}
	return nil
}

// FreePort returns a loopback port on which nobody listens.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := FindFreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// FreeAddress returns the HOST:PORT of a loopback port on which nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(t))
}
