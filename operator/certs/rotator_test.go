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

func startTime() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

var serverNames = []string{"adapter.metrics.svc", "adapter"}

// newBundle returns a bundle that was created at the given time.
func newBundle(t *testing.T, at time.Time) Bundle {
	t.Helper()
	b, err := issueCertificates(at, Bundle{}, renewAll, certificateSubject{"test", serverNames})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlan(t *testing.T) {
	day := 24 * time.Hour
	good, other := newBundle(t, startTime()), newBundle(t, startTime())
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
		{"there is nothing", startTime(), Bundle{}, serverNames, renewAll},
		{"everything is valid", startTime(), good, serverNames, keepCertificates},
		{"two thirds of the lifetime have not passed", startTime().Add(59 * day), good, serverNames, keepCertificates},
		{"two thirds of the lifetime have passed", startTime().Add(61 * day), good, serverNames, renewServing},
		{"the certificate has expired", startTime().Add(100 * day), good, serverNames, renewServing},
		{"the validity has not begun", startTime().Add(-day), good, serverNames, renewAll},
		{"two thirds of the CA's lifetime have passed", startTime().Add(7 * 365 * day), good, serverNames, renewAll},
		{"a name is missing", startTime(), good, []string{"adapter", "other.metrics.svc"}, renewServing},
		{"an address is missing", startTime(), good, []string{"adapter", "10.0.0.1"}, renewServing},
		{"the certificate is missing", startTime(), with(func(b *Bundle) { b.Cert = nil }), serverNames, renewServing},
		{"the certificate is malformed", startTime(), with(func(b *Bundle) { b.Cert = []byte("nonsense") }),
			serverNames, renewServing},
		{"the key does not match", startTime(), with(func(b *Bundle) { b.Key = other.Key }), serverNames, renewServing},
		{"the certificate is signed by another CA", startTime(),
			with(func(b *Bundle) { b.Cert, b.Key = other.Cert, other.Key }), serverNames, renewServing},
		{"the CA's key does not match", startTime(), with(func(b *Bundle) { b.CAKey = other.CAKey }), serverNames,
			renewAll},
		{"the CA's certificate is not that of a CA", startTime(),
			with(func(b *Bundle) { b.CACert, b.CAKey = b.Cert, b.Key }), serverNames, renewAll},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := planRenewal(tc.at, tc.b, tc.names)
			if got != tc.want || (got == keepCertificates) != (why == "") {
				t.Fatalf("got action %d because %q, want %d", got, why, tc.want)
			}
			if got == keepCertificates {
				return
			}
			b, err := issueCertificates(tc.at, tc.b, got, certificateSubject{"test", tc.names})
			if err != nil {
				t.Fatal(err)
			}
			if again, why := planRenewal(tc.at, b, tc.names); again != keepCertificates {
				t.Errorf("the new certificate is to be renewed: %s", why)
			}
		})
	}
}

func TestANewCAIsTrustedTogetherWithTheOld(t *testing.T) {
	old := newBundle(t, startTime())
	later := startTime().Add(7 * 365 * 24 * time.Hour)
	next, err := issueCertificates(later, old, renewAll, certificateSubject{"test", serverNames})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(trust, cert []byte, at time.Time) error {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trust)
		_, err := parseCertificates(cert)[0].Verify(
			x509.VerifyOptions{Roots: pool, DNSName: serverNames[0], CurrentTime: at})
		return err
	}
	if err := verify(next.CACert, next.Cert, later); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
	if err := verify(next.CACert, old.Cert, startTime()); err != nil {
		t.Errorf("a replica that still has the old one: %v", err)
	}
	if err := verify(old.CACert, next.Cert, later); err == nil {
		t.Error("the new certificate verifies with only the old CA")
	}
	for range 10 {
		later = later.Add(7 * 365 * 24 * time.Hour)
		if next, err = issueCertificates(later, next, renewAll, certificateSubject{"test", serverNames}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(parseCertificates(next.CACert)); n > 2 {
		t.Errorf("the bundle has %d CAs", n)
	}
}

// fakeStore is a Store in memory and an Announcer.
type fakeStore struct {
	mu        sync.Mutex
	bundle    Bundle
	version   int
	announced []byte
	err       error
}

func (m *fakeStore) Read(context.Context) (Bundle, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version == 0 {
		return m.bundle, "", m.err
	}
	return m.bundle, strconv.Itoa(m.version), m.err
}

func (m *fakeStore) Write(_ context.Context, b Bundle, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (version == "") != (m.version == 0) || version != "" && version != strconv.Itoa(m.version) {
		return ErrConflict
	}
	m.bundle = b
	m.version++
	return nil
}

func (m *fakeStore) Announce(_ context.Context, ca []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announced = ca
	return nil
}

// countingListener counts its notifications.
type countingListener struct{ notified int }

func (l *countingListener) Enqueue() { l.notified++ }

func TestReplicasShareOneCertificate(t *testing.T) {
	store := &fakeStore{}
	var keepers []*Rotator
	var wg sync.WaitGroup
	for range 5 {
		k := New(Config{Store: store, Announcer: store, Names: serverNames, Now: startTime})
		keepers = append(keepers, k)
		wg.Go(func() {
			if err := k.EnsureCertificate(t.Context()); err != nil {
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

func TestTheServerIsNotifiedOfANewCertificate(t *testing.T) {
	now := startTime()
	store := &fakeStore{}
	var why []string
	k := New(Config{
		Store: store, Announcer: store, Names: serverNames,
		Now: func() time.Time { return now }, OnRenewed: func(s string) { why = append(why, s) },
	})
	l := &countingListener{}
	k.AddListener(l)
	look := func(want int) {
		t.Helper()
		if err := k.EnsureCertificate(t.Context()); err != nil || l.notified != want {
			t.Errorf("the server was notified %d times, want %d: %v", l.notified, want, err)
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
	if err := k.EnsureCertificate(t.Context()); !errors.Is(err, store.err) || !k.HasCertificate() {
		t.Errorf("without the API server: %v", err)
	}
}
