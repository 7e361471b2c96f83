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
const LookEvery = 10 * time.Second

// ErrConflict is the error of Store.Write if the bundle has changed since it was read.
var ErrChanged = errors.New("the Secret has changed since it was read")

// Store persists a Bundle.
type Store interface {
	// Read returns the bundle and the version that Write needs. The bundle is empty and the version is
	// "" if none is stored.
	Read(ctx context.Context) (b Bundle, version string, err error)
	// Write stores the bundle if the stored version is still the given one. Otherwise it returns
	// ErrConflict.
	Write(ctx context.Context, b Bundle, version string) error
}

// Announcer tells the clients of the server which CAs to trust.
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
	Renewed func(why string)
	// OnError is called with each error of Run. It may be nil.
	Failed func(err error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Rotator renews a serving certificate. It is a dynamiccertificates.CertKeyContentProvider: a server that
// listens to it uses a new certificate without a restart.
type Keeper struct {
	cfg Config

	mu        sync.Mutex
	bundle    Bundle
	listeners []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = (*Keeper)(nil)

// New returns a Rotator. It has no certificate until EnsureCertificate succeeds.
func New(cfg Config) *Keeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Keeper{cfg: cfg}
}

// EnsureCertificate reads the stored bundle, renews what is due, and announces the CA. If only the
// announcement fails, there is a certificate despite the error.
func (k *Keeper) Look(ctx context.Context) error {
	const tries = 5 // replicas that start at the same time all try to write
	for range tries {
		err := k.look(ctx)
		if errors.Is(err, ErrChanged) {
			continue
		}
		if err != nil {
			return err
		}
		if err := k.cfg.Announcer.Announce(ctx, k.current().CACert); err != nil {
			return fmt.Errorf("announcing the CA: %w", err)
		}
		return nil
	}
	return fmt.Errorf("renewing the certificate: %w", ErrChanged)
}

func (k *Keeper) look(ctx context.Context) error {
	b, version, err := k.cfg.Store.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	due, why := plan(k.cfg.Now(), b, k.cfg.Names)
	if due != keep {
		if b, err = issue(k.cfg.Now(), b, due, subject{k.cfg.Subject, k.cfg.Names}); err != nil {
			return err
		}
		if err := k.cfg.Store.Write(ctx, b, version); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
		if k.cfg.Renewed != nil {
			k.cfg.Renewed(why)
		}
	}
	k.use(b)
	return nil
}

// setBundle stores the bundle and notifies the listeners if the certificate has changed.
func (k *Keeper) use(b Bundle) {
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
func (k *Keeper) Watch(ctx context.Context) {
	tick := time.NewTicker(LookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := k.Look(ctx); err != nil && ctx.Err() == nil && k.cfg.Failed != nil {
				k.cfg.Failed(err)
			}
		}
	}
}

func (k *Keeper) current() Bundle {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bundle
}

// HasCertificate reports whether the Rotator has a certificate.
func (k *Keeper) HasCertificate() bool { return len(k.current().Cert) > 0 }

// Name implements dynamiccertificates.CertKeyContentProvider.
func (k *Keeper) Name() string { return "self-made serving certificate" }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (k *Keeper) CurrentCertKeyContent() (cert, key []byte) {
	b := k.current()
	return b.Cert, b.Key
}

// AddListener implements dynamiccertificates.Notifier.
func (k *Keeper) AddListener(l dynamiccertificates.Listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, l)
}
