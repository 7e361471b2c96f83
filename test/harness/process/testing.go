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

// Await calls try until it returns nil, and fails the test with the last error when Patience has passed.
func Await(t testing.TB, try func() error) {
	t.Helper()
	if err := Retry(t.Context(), Patience, func(context.Context) error { return try() }); err != nil {
		t.Fatal(err)
	}
}

// AwaitValue calls look until it returns the wanted value, and fails the test when Patience has passed.
// what describes the value.
func AwaitValue(t testing.TB, what, want string, look func(context.Context) (string, error)) {
	t.Helper()
	err := Retry(t.Context(), Patience, func(ctx context.Context) error {
		got, err := look(ctx)
		if err != nil || got != want {
			return fmt.Errorf("%s is %q (%w), not %q", what, got, err, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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

// FreePort returns an unused loopback port.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := FindFreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// FreeAddress returns the HOST:PORT of an unused loopback port.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(t))
}
