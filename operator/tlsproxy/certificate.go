package tlsproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Certificate is a certificate with its key, read again from a folder when the files change. Its methods may be
// called at the same time, except Reload and Watch.
type Certificate struct {
	dir       string
	current   atomic.Pointer[tls.Certificate]
	cert, key []byte
}

// NewCertificate returns the certificate in the files tls.crt and tls.key of a folder. It does not read them.
func NewCertificate(dir string) *Certificate { return &Certificate{dir: dir} }

// errNoCertificate is the error of handshakes before a certificate was read.
var errNoCertificate = errors.New("no certificate has been read")

// Get returns the last read certificate. It has the signature of tls.Config.GetCertificate.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if found := c.current.Load(); found != nil {
		return found, nil
	}
	return nil, errNoCertificate
}

// Reload reads the files, and reports whether the certificate is another one. With an error it stays the same. The
// error contains nothing of the key.
func (c *Certificate) Reload() (changed bool, err error) {
	cert, err := os.ReadFile(filepath.Join(c.dir, corev1.TLSCertKey))
	if err != nil {
		return false, err
	}
	key, err := os.ReadFile(filepath.Join(c.dir, corev1.TLSPrivateKeyKey))
	if err != nil {
		return false, err
	}
	if bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("reading the certificate in %s: %w", c.dir, err)
	}
	c.cert, c.key = cert, key
	c.current.Store(&pair)
	return true, nil
}

// Watch reads the files in an interval until ctx ends, and logs changes. An error is logged once, when it has
// lasted for two intervals: the kubelet may replace the files between two reads.
func (c *Certificate) Watch(ctx context.Context, interval time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last, logged := "", ""
	for {
		changed, err := c.Reload()
		message := ""
		switch {
		case err != nil:
			if message = err.Error(); message == last && message != logged {
				log.Error("the certificate cannot be read; the one before stays", "error", err)
				logged = message
			}
		case changed:
			found := c.current.Load().Leaf
			log.Info("read a certificate", "serial", found.SerialNumber.Text(16), "end", found.NotAfter)
			logged = ""
		}
		last = message
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
