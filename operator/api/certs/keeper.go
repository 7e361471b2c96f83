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

// LookEvery is the time between two looks at the Secret and at what the CA is
// announced in, which may come after the server.
const LookEvery = 10 * time.Second

// ErrChanged is what Store.Write returns when somebody else has written.
var ErrChanged = errors.New("the Secret was written by somebody else")

// Store keeps the bundle.
type Store interface {
	// Read returns the bundle, empty where there is none, and the version to write with.
	Read(ctx context.Context) (b Bundle, version string, err error)
	// Write keeps the bundle if the version is still the one that was read, "" for
	// none; else it returns ErrChanged.
	Write(ctx context.Context, b Bundle, version string) error
}

// Announcer tells those who connect to the server which CAs to trust.
type Announcer interface {
	// Announce makes them trust the CAs, in PEM. It writes nothing where they do already.
	Announce(ctx context.Context, caCert []byte) error
}

// Config says what a Keeper keeps.
type Config struct {
	Store Store
	// Announcer is told of the CA at every look; never nil.
	Announcer Announcer
	// Subject begins the name of the CA ("slurm-operator").
	Subject string
	// Names are the DNS names and addresses that the certificate is for, at least one.
	Names []string
	// Renewed is told what was made anew and why; may be nil.
	Renewed func(why string)
	// Failed is told what fails while running; may be nil.
	Failed func(err error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Keeper keeps a serving certificate good. It is a
// dynamiccertificates.CertKeyContentProvider: a server that listens to it takes a
// new certificate without a restart.
type Keeper struct {
	cfg Config

	mu        sync.Mutex
	bundle    Bundle
	listeners []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = (*Keeper)(nil)

// New returns a Keeper that has no certificate before Look.
func New(cfg Config) *Keeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Keeper{cfg: cfg}
}

// Look reads the Secret, makes anew what has to be, and announces the CA. After an
// error about the announcement alone there is a certificate all the same.
func (k *Keeper) Look(ctx context.Context) error {
	const tries = 5 // replicas that start at once all want to write
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
	return fmt.Errorf("keeping the certificate: %w", ErrChanged)
}

func (k *Keeper) look(ctx context.Context) error {
	b, version, err := k.cfg.Store.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	what, why := plan(k.cfg.Now(), b, k.cfg.Names)
	if what != keep {
		if b, err = issue(k.cfg.Now(), b, what, subject{k.cfg.Subject, k.cfg.Names}); err != nil {
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

// use hands the bundle to the server, if it is another one.
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

// Watch looks every LookEvery until ctx ends. While that fails the last
// certificate is used.
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

// HasCertificate reports whether there is a certificate to serve with.
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
