package tlsproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// writeCertificate issues a certificate for 127.0.0.1 and writes it to a folder.
func writeCertificate(t *testing.T, dir string, ca *testcert.CA, lifetime time.Duration) testcert.Pair {
	t.Helper()
	pair := ca.Issue(t, time.Now().Add(-time.Minute), time.Now().Add(lifetime), "127.0.0.1")
	writePair(t, dir, pair)
	return pair
}

func writePair(t *testing.T, dir string, pair testcert.Pair) {
	t.Helper()
	for name, content := range map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReload(t *testing.T) {
	dir, ca := t.TempDir(), testcert.NewCA(t, "ca", time.Now().Add(-time.Hour))
	c := NewCertificate(dir)
	if _, err := c.Get(nil); err == nil {
		t.Error("there is a certificate before one was read")
	}
	if changed, err := c.Reload(); changed || err == nil {
		t.Errorf("without files: %v, %v", changed, err)
	}
	first := writeCertificate(t, dir, ca, time.Hour)
	if changed, err := c.Reload(); !changed || err != nil {
		t.Errorf("the first one: %v, %v", changed, err)
	}
	if changed, err := c.Reload(); changed || err != nil {
		t.Errorf("the same one again: %v, %v", changed, err)
	}
	before, _ := c.Get(nil)
	second := ca.Issue(t, time.Now(), time.Now().Add(time.Hour), "127.0.0.1")
	writePair(t, dir, testcert.Pair{Cert: second.Cert, Key: first.Key})
	if changed, err := c.Reload(); changed || err == nil || strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("a certificate with the key of another: %v, %v", changed, err)
	}
	if after, _ := c.Get(nil); after != before {
		t.Error("a broken certificate has taken the place of the one before")
	}
	writePair(t, dir, second)
	if changed, err := c.Reload(); !changed || err != nil {
		t.Errorf("the second one: %v, %v", changed, err)
	}
}

func TestClientsSeeAChangedCertificate(t *testing.T) {
	r := startProxy(t, DefaultLimits(), answer)
	serial := func(client *http.Client) string {
		t.Helper()
		res, err := client.Get("https://" + r.address + "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.TLS.PeerCertificates[0].SerialNumber.String()
	}
	kept := r.client(t)
	first := serial(kept)
	pair := writeCertificate(t, filepath.Dir(r.Socket), r.ca, time.Hour)
	if changed, err := r.Certificate.Reload(); !changed || err != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	if again := serial(kept); again != first {
		t.Error("the kept connection was broken by the change")
	}
	want, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	if second := serial(r.client(t)); second != want.Leaf.SerialNumber.String() {
		t.Errorf("a new connection has the certificate %s, the first was %s", second, first)
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func TestWatchLogsAnErrorThatLastsOnce(t *testing.T) {
	dir, ca := t.TempDir(), testcert.NewCA(t, "ca", time.Now().Add(-time.Hour))
	synctest.Test(t, func(t *testing.T) {
		c, log := NewCertificate(dir), &lockedBuffer{}
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { c.Watch(ctx, time.Second, slog.New(slog.NewTextHandler(log, nil))) })
		expect := func(when string, errors, reads int) {
			t.Helper()
			synctest.Wait()
			text := log.String()
			if strings.Count(text, "cannot be read") != errors || strings.Count(text, "read a certificate") != reads {
				t.Errorf("%s, the log is:\n%s", when, text)
			}
		}
		expect("at first", 0, 0)
		time.Sleep(10500 * time.Millisecond)
		expect("without files", 1, 0)
		pair := writeCertificate(t, dir, ca, time.Hour)
		time.Sleep(2 * time.Second)
		expect("with files", 1, 1)
		writePair(t, dir, testcert.Pair{Cert: []byte("-"), Key: pair.Key})
		time.Sleep(time.Second)
		expect("with a broken one for a moment", 1, 1)
		writePair(t, dir, pair)
		time.Sleep(5 * time.Second)
		expect("with the same one", 1, 1)
		writePair(t, dir, testcert.Pair{Cert: []byte("-"), Key: pair.Key})
		time.Sleep(5 * time.Second)
		expect("with a broken one", 2, 1)
		cancel()
		watch.Wait()
	})
}
