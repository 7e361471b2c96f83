package tlsproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// running is a Proxy in front of a server.
type running struct {
	*Proxy
	ca      *testcert.CA
	address string
	server  *httptest.Server
	// stop ends the proxy, and ended has the result of Serve.
	stop  context.CancelFunc
	ended chan error
}

// startProxy starts a proxy with a certificate in front of a server with a handler. Both end with the test.
func startProxy(t *testing.T, limits Limits, handler http.HandlerFunc) *running {
	t.Helper()
	r := &running{ca: testcert.NewCA(t, "ca", time.Now().Add(-time.Hour)), ended: make(chan error, 1)}
	dir := t.TempDir()
	r.Proxy = &Proxy{Socket: filepath.Join(dir, "restd.sock"), Certificate: NewCertificate(dir), Limits: limits,
		Log: slog.New(slog.DiscardHandler)}
	writeCertificate(t, dir, r.ca, time.Hour)
	if _, err := r.Certificate.Reload(); err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewUnstartedServer(handler)
	_ = r.server.Listener.Close()
	r.server.Listener = listen(t, "unix", r.Socket)
	r.server.Start()
	t.Cleanup(r.server.Close)
	listener := listen(t, "tcp", "127.0.0.1:0")
	r.address = listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.ended <- r.Serve(ctx, listener) }()
	t.Cleanup(stop)
	return r
}

func answer(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// client returns a client that trusts the CA, with connections of its own.
func (r *running) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: r.clientTLS(), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func (r *running) clientTLS() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.ca.PEM)
	return &tls.Config{RootCAs: roots}
}

// dialTLS opens a connection by hand.
func (r *running) dialTLS(t *testing.T) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", r.address, r.clientTLS())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRequestsPassWhole(t *testing.T) {
	r := startProxy(t, DefaultLimits(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Server", "restd")
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %v %s", r.Method, r.RequestURI, r.Proto, r.Header, body)
	})
	client := r.client(t)
	for range 2 { // the second request uses the same connection
		req, err := http.NewRequest(http.MethodPost, "https://"+r.address+"/slurm/v0.0.45/jobs/?a=%2F",
			strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Slurm-User-Token": {"token"}, "User-Agent": {"a/1"}, "Accept-Encoding": {"identity"}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		want := "POST /slurm/v0.0.45/jobs/?a=%2F HTTP/1.1 map[Accept-Encoding:[identity] Content-Length:[4] " +
			"User-Agent:[a/1] X-Slurm-User-Token:[token]] body"
		if string(text) != want || err != nil || res.Header.Get("X-Server") != "restd" || res.Body.Close() != nil {
			t.Errorf("the answer is %q, %v, with %v; the server should see %q", text, err, res.Header, want)
		}
	}
}

func TestAnswersAreStreamed(t *testing.T) {
	next := make(chan struct{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	r := startProxy(t, DefaultLimits(), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-next
		_, _ = w.Write(large)
	})
	res, err := r.client(t).Get("https://" + r.address + "/jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := bufio.NewReader(res.Body)
	if line, err := body.ReadString('\n'); line != "first\n" || err != nil {
		t.Fatalf("the beginning of the answer is %q, %v, while the server goes on", line, err)
	}
	close(next)
	if rest, err := io.ReadAll(body); !bytes.Equal(rest, large) || err != nil {
		t.Errorf("%d bytes arrive, not %d: %v", len(rest), len(large), err)
	}
}

func TestAClientThatHasSentEverythingGetsItsAnswer(t *testing.T) {
	r := startProxy(t, DefaultLimits(), answer)
	conn := r.dialTLS(t)
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); !strings.HasSuffix(string(text), "answer") || err != nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
}

func TestRunningRequestsEndAfterTheProxyWasStopped(t *testing.T) {
	begun, next := make(chan struct{}), make(chan struct{})
	r := startProxy(t, DefaultLimits(), func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-next
		_, _ = io.WriteString(w, "whole")
	})
	client, got := r.client(t), make(chan string, 1)
	idle := r.dialTLS(t) // a client that keeps a connection, whose server ends it
	go func() { got <- get(t, client, "https://"+r.address+"/") }()
	<-begun
	r.stop()
	for { // until the port is closed
		conn, err := net.Dial("tcp", r.address)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	select {
	case err := <-r.ended:
		t.Fatalf("it has ended while a request is running: %v", err)
	default:
	}
	close(next)
	if text := <-got; text != "whole" {
		t.Errorf("the answer is %q", text)
	}
	r.server.Close() // as slurmrestd ends
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the kept connection ends with %v", err)
	}
	_ = idle.Close()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestPlainClientsAreRefused(t *testing.T) {
	r := startProxy(t, DefaultLimits(),
		func(http.ResponseWriter, *http.Request) { t.Error("a plain request has arrived") })
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		req, err := http.NewRequest(method, "http://"+r.address+"/slurm/v0.0.45/nodes/", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "https://") || res.Body.Close() != nil {
			t.Errorf("%s: %s %q", method, res.Status, text)
		}
	}
	conn, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "SSH-2.0-x\r\n")
	if text, _ := io.ReadAll(conn); bytes.Contains(text, []byte("HTTP")) {
		t.Errorf("a client of something else gets %q", text)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	r := startProxy(t, DefaultLimits(), func(http.ResponseWriter, *http.Request) {})
	config := r.clientTLS()
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if conn, err := tls.Dial("tcp", r.address, config); err == nil {
		t.Errorf("a client of TLS %x is served", conn.ConnectionState().Version)
	}
}

func TestSilentConnectionsAreClosed(t *testing.T) {
	r := startProxy(t, Limits{Connections: 2, Handshake: 2 * time.Second, Idle: 2 * time.Second},
		answer)
	plain, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for name, conn := range map[string]net.Conn{"before TLS": plain, "after TLS": r.dialTLS(t)} {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("a client that is silent %s keeps its connection", name)
		}
	}
	if text := get(t, r.client(t), "https://"+r.address+"/"); text != "answer" {
		t.Errorf("then the answer is %q", text)
	}
}

func TestMoreConnectionsThanAllowedWait(t *testing.T) {
	r := startProxy(t, Limits{Connections: 1, Handshake: 20 * time.Second, Idle: time.Minute},
		answer)
	first := r.dialTLS(t)
	second, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	handshake := make(chan error, 1)
	go func() {
		config := r.clientTLS()
		config.ServerName = "127.0.0.1"
		handshake <- tls.Client(second, config).Handshake()
	}()
	_, _ = io.WriteString(first, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	select {
	case err := <-handshake:
		t.Errorf("the second connection is served beside the first: %v", err)
	default:
	}
	if _, err := io.ReadAll(first); err != nil {
		t.Error(err)
	}
	_ = first.Close()
	if err := <-handshake; err != nil {
		t.Errorf("when the first has ended, the second ends with %v", err)
	}
}

func TestReady(t *testing.T) {
	r := startProxy(t, DefaultLimits(), func(http.ResponseWriter, *http.Request) {})
	ask := func(p *Proxy) (int, string) {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
		return w.Code, w.Body.String()
	}
	if code, text := ask(r.Proxy); code != http.StatusOK {
		t.Errorf("with a server: %d %s", code, text)
	}
	without := *r.Proxy
	without.Certificate = NewCertificate(t.TempDir())
	if code, text := ask(&without); code != http.StatusServiceUnavailable || !strings.Contains(text, "no certificate") {
		t.Errorf("without a certificate: %d %s", code, text)
	}
	r.server.Close()
	if code, text := ask(r.Proxy); code != http.StatusServiceUnavailable || !strings.Contains(text, "restd.sock") {
		t.Errorf("without a server: %d %s", code, text)
	}
}
