package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func start() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

var names = []string{"adapter.metrics.svc", "adapter"}

// newBundle returns a bundle that was created at the given time.
func made(t *testing.T, at time.Time) Bundle {
	t.Helper()
	b, err := issue(at, Bundle{}, renewAll, subject{"test", names})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlan(t *testing.T) {
	day := 24 * time.Hour
	good, other := made(t, start()), made(t, start())
	with := func(change func(b *Bundle)) Bundle {
		b := good
		change(&b)
		return b
	}
	for _, tc := range []struct {
		name  string
		at    time.Time
		b     Bundle
		names []string
		want  action
	}{
		{"there is nothing", start(), Bundle{}, names, renewAll},
		{"everything is valid", start(), good, names, keep},
		{"two thirds of the lifetime have not passed", start().Add(59 * day), good, names, keep},
		{"two thirds of the lifetime have passed", start().Add(61 * day), good, names, renewServing},
		{"the certificate has expired", start().Add(100 * day), good, names, renewServing},
		{"the validity has not begun", start().Add(-day), good, names, renewAll},
		{"two thirds of the CA's lifetime have passed", start().Add(7 * 365 * day), good, names, renewAll},
		{"a name is missing", start(), good, []string{"adapter", "other.metrics.svc"}, renewServing},
		{"an address is missing", start(), good, []string{"adapter", "10.0.0.1"}, renewServing},
		{"the certificate is missing", start(), with(func(b *Bundle) { b.Cert = nil }), names, renewServing},
		{"the certificate is malformed", start(), with(func(b *Bundle) { b.Cert = []byte("nonsense") }), names, renewServing},
		{"the key does not match", start(), with(func(b *Bundle) { b.Key = other.Key }), names, renewServing},
		{"the certificate is signed by another CA", start(), with(func(b *Bundle) { b.Cert, b.Key = other.Cert, other.Key }), names, renewServing},
		{"the CA's key does not match", start(), with(func(b *Bundle) { b.CAKey = other.CAKey }), names, renewAll},
		{"the CA's certificate is not that of a CA", start(), with(func(b *Bundle) { b.CACert, b.CAKey = b.Cert, b.Key }), names, renewAll},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := plan(tc.at, tc.b, tc.names)
			if got != tc.want || (got == keep) != (why == "") {
				t.Fatalf("got action %d because %q, want %d", got, why, tc.want)
			}
			if got == keep {
				return
			}
			b, err := issue(tc.at, tc.b, got, subject{"test", tc.names})
			if err != nil {
				t.Fatal(err)
			}
			if again, why := plan(tc.at, b, tc.names); again != keep {
				t.Errorf("the new certificate is to be renewed: %s", why)
			}
		})
	}
}

func TestANewCAIsTrustedBesideTheOld(t *testing.T) {
	old := made(t, start())
	later := start().Add(7 * 365 * 24 * time.Hour)
	next, err := issue(later, old, renewAll, subject{"test", names})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(trust, cert []byte, at time.Time) error {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trust)
		_, err := certificates(cert)[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: names[0], CurrentTime: at})
		return err
	}
	if err := verify(next.CACert, next.Cert, later); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
	if err := verify(next.CACert, old.Cert, start()); err != nil {
		t.Errorf("a replica that still has the old one: %v", err)
	}
	if err := verify(old.CACert, next.Cert, later); err == nil {
		t.Error("the new certificate verifies with only the old CA")
	}
	for range 10 {
		later = later.Add(7 * 365 * 24 * time.Hour)
		if next, err = issue(later, next, renewAll, subject{"test", names}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(certificates(next.CACert)); n > 2 {
		t.Errorf("the bundle has %d CAs", n)
	}
}

// fakeStore is a Store in memory and an Announcer.
type memory struct {
	mu        sync.Mutex
	bundle    Bundle
	version   int
	announced []byte
	err       error
}

func (m *memory) Read(context.Context) (Bundle, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version == 0 {
		return m.bundle, "", m.err
	}
	return m.bundle, strconv.Itoa(m.version), m.err
}

func (m *memory) Write(_ context.Context, b Bundle, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (version == "") != (m.version == 0) || version != "" && version != strconv.Itoa(m.version) {
		return ErrChanged
	}
	m.bundle = b
	m.version++
	return nil
}

func (m *memory) Announce(_ context.Context, ca []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announced = ca
	return nil
}

// countingListener counts its notifications.
type listener struct{ told int }

func (l *listener) Enqueue() { l.told++ }

func TestReplicasShareOneCertificate(t *testing.T) {
	store := &memory{}
	var keepers []*Keeper
	var wg sync.WaitGroup
	for range 5 {
		k := New(Config{Store: store, Announcer: store, Names: names, Now: start})
		keepers = append(keepers, k)
		wg.Go(func() {
			if err := k.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if store.version != 1 {
		t.Errorf("the Secret was written %d times, want once", store.version)
	}
	for _, k := range keepers {
		if cert, _ := k.CurrentCertKeyContent(); string(cert) != string(store.bundle.Cert) || !k.HasCertificate() {
			t.Error("a replica has another certificate")
		}
	}
	if string(store.announced) != string(store.bundle.CACert) {
		t.Error("the CA was not announced")
	}
}

func TestTheServerIsToldOfANewCertificate(t *testing.T) {
	now := start()
	store := &memory{}
	var why []string
	k := New(Config{
		Store: store, Announcer: store, Names: names,
		Now: func() time.Time { return now }, Renewed: func(s string) { why = append(why, s) },
	})
	l := &listener{}
	k.AddListener(l)
	look := func(want int) {
		t.Helper()
		if err := k.Look(t.Context()); err != nil || l.told != want {
			t.Errorf("the server was notified %d times, want %d: %v", l.told, want, err)
		}
	}
	look(1)
	look(1)
	now = now.Add(61 * 24 * time.Hour)
	look(2)
	if len(why) != 2 || !strings.Contains(why[1], "expires soon") {
		t.Errorf("got reasons %q", why)
	}
	store.err = errors.New("the API server is unavailable")
	if err := k.Look(t.Context()); !errors.Is(err, store.err) || !k.HasCertificate() {
		t.Errorf("without the API server: %v", err)
	}
}
