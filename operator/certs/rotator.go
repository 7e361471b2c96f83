package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// CheckInterval is the time between two checks of the Secret and of the objects that announce the CA.
// Those objects may be created after the server starts.
const CheckInterval = 10 * time.Second

// ErrConflict is the error of Store.Write if the bundle has changed since it was read.
var ErrConflict = errors.New("the Secret has changed since it was read")

// Store persists a Bundle.
type Store interface {
	// Read returns the bundle and the version that Write needs. The bundle is empty and the version is
	// "" if none is stored.
	Read(ctx context.Context) (b Bundle, version string, err error)
	// Write stores the bundle if the stored version is still the given one. Otherwise it returns
	// ErrConflict.
	Write(ctx context.Context, b Bundle, version string) error
}

// Announcer publishes the trusted CAs to the clients of the server.
type Announcer interface {
	// Announce makes the clients trust the CAs, given in PEM. It writes nothing if they already do.
	Announce(ctx context.Context, caCert []byte) error
}

// Config configures a Rotator.
type Config struct {
	Store Store
	// Announcer gets the CA at every check. It is required.
	Announcer Announcer
	// Subject is the prefix of the CA's common name ("slurm-operator").
	Subject string
	// Names are the DNS names and addresses of the certificate. At least one is required.
	Names []string
	// OnRenewed is called with the reason after each renewal. It may be nil.
	OnRenewed func(why string)
	// OnError is called with each error of Run. It may be nil.
	OnError func(err error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Rotator renews a serving certificate. It is a dynamiccertificates.CertKeyContentProvider: a server that
// listens to it uses a new certificate without a restart.
type Rotator struct {
	cfg Config

	mu        sync.Mutex
	bundle    Bundle
	listeners []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = (*Rotator)(nil)

// New returns a Rotator. It has no certificate until EnsureCertificate succeeds.
func New(cfg Config) *Rotator {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Rotator{cfg: cfg}
}

// EnsureCertificate reads the stored bundle, renews what is due, and announces the CA. If only the
// announcement fails, the certificate exists despite the error.
func (k *Rotator) EnsureCertificate(ctx context.Context) error {
	const tries = 5 // replicas that start at the same time all try to write
	for range tries {
		err := k.renewIfDue(ctx)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		if err := k.cfg.Announcer.Announce(ctx, k.currentBundle().CACert); err != nil {
			return fmt.Errorf("announcing the CA: %w", err)
		}
		return nil
	}
	return fmt.Errorf("renewing the certificate: %w", ErrConflict)
}

func (k *Rotator) renewIfDue(ctx context.Context) error {
	b, version, err := k.cfg.Store.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	due, why := planRenewal(k.cfg.Now(), b, k.cfg.Names)
	if due != keepCertificates {
		if b, err = issueCertificates(k.cfg.Now(), b, due, certificateSubject{k.cfg.Subject, k.cfg.Names}); err != nil {
			return err
		}
		if err := k.cfg.Store.Write(ctx, b, version); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
		if k.cfg.OnRenewed != nil {
			k.cfg.OnRenewed(why)
		}
	}
	k.setBundle(b)
	return nil
}

// setBundle stores the bundle and notifies the listeners if the certificate has changed.
func (k *Rotator) setBundle(b Bundle) {
	k.mu.Lock()
	same := bytes.Equal(b.Cert, k.bundle.Cert)
	k.bundle = b
	listeners := k.listeners
	k.mu.Unlock()
	if same {
		return
	}
	for _, l := range listeners {
		l.Enqueue()
	}
}

// Run calls EnsureCertificate every CheckInterval until ctx ends. The last certificate stays in use while
// that fails.
func (k *Rotator) Run(ctx context.Context) {
	tick := time.NewTicker(CheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := k.EnsureCertificate(ctx); err != nil && ctx.Err() == nil && k.cfg.OnError != nil {
				k.cfg.OnError(err)
			}
		}
	}
}

func (k *Rotator) currentBundle() Bundle {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bundle
}

// HasCertificate reports whether the Rotator has a certificate.
func (k *Rotator) HasCertificate() bool { return len(k.currentBundle().Cert) > 0 }

// CACert returns the CAs that clients of the server trust, in PEM. It is empty before the first certificate.
func (k *Rotator) CACert() []byte { return k.currentBundle().CACert }

// Name implements dynamiccertificates.CertKeyContentProvider.
func (k *Rotator) Name() string { return "self-made serving certificate" }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (k *Rotator) CurrentCertKeyContent() (cert, key []byte) {
	b := k.currentBundle()
	return b.Cert, b.Key
}

// AddListener implements dynamiccertificates.Notifier.
func (k *Rotator) AddListener(l dynamiccertificates.Listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, l)
}
