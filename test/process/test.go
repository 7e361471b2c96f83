package process

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Start starts a program that ends with the test, and well. If the test has failed, what
// the program printed is shown.
func Start(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	p, err := Launch(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.done: // the test saw to it
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

// Patience is how long a test waits for what must come, however slow or busy the machine is.
// A test that succeeds never takes so long; speed is measured by benchmarks.
const Patience = 4 * time.Minute

// Await tries ten times a second until there is no error, and fails the test with the
// last one when Patience has passed.
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
			t.Fatalf("waited %v in vain: %v", Patience, err)
		}
	}
}

// Answers is an error unless the URL is answered with 200.
func Answers(url string) error {
	r, err := http.Get(url) //nolint:noctx,gosec // a test's own server
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, r.Status)
	}
	return nil
}

// FreePort is a port of loopback that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := Port()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// FreeAddress is HOST:PORT on loopback that nobody listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(t))
}
