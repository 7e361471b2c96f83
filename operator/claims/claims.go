package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Claims holds the Leases of the namespaces in which this operator reconciles objects.
type Claims struct {
	identity Identity
	// client reads and writes without a cache.
	client client.Client
	log    logr.Logger
	now    func() time.Time

	started chan struct{} // closed when ctx and lost are set
	ctx     context.Context
	lost    context.CancelCauseFunc
	keepers sync.WaitGroup
	begun   time.Time

	mu         sync.Mutex
	namespaces map[string]*namespace
	stopped    bool // no further namespace is kept
}

// namespace is an operator's record of one namespace.
type namespace struct {
	name   string
	looked chan struct{} // closed after the first look at the Lease
	// running are the reconciliations in the namespace. It grows only while the Lease is ours.
	running sync.WaitGroup

	mu    sync.Mutex
	seen  seen
	until time.Time // the end of our hold on the Lease; zero without a hold

	// lease is the Lease as this operator wrote it last, or nil if it must be read. wasLost is true if another operator took it from
	// this one. Only the keeper uses both.
	lease   *coordinationv1.Lease
	wasLost bool
}

// restartInterval is the minimum time between restarts of an operator for a namespace that it has lost and may hold again.
const restartInterval = 10 * time.Minute

// New returns the Claims of an installation. Its client must not read from a cache.
func New(identity Identity, c client.Client, log logr.Logger) *Claims {
	return &Claims{identity: identity, client: c, log: log, now: time.Now, started: make(chan struct{}), namespaces: map[string]*namespace{}}
}

// NeedLeaderElection: one replica of an installation holds the Leases.
func (c *Claims) NeedLeaderElection() bool { return true }

// Start keeps the Leases until ctx ends, and releases them when the reconciliations have ended. It returns an error if the process must
// restart, because another operator held a namespace meanwhile.
func (c *Claims) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.ctx, c.lost, c.begun = ctx, cancel, c.now()
	close(c.started)
	<-ctx.Done()
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.keepers.Wait()
	if cause := context.Cause(ctx); cause != ctx.Err() { //nolint:errorlint // whether there is another cause
		return cause
	}
	return nil
}

// Guard returns a reconciler that reconciles the objects of namespaces which are this operator's. It returns at once for others, and
// looks again later.
func (c *Claims) Guard(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		leave, err := c.enterNamespace(ctx, request.Namespace)
		if leave == nil {
			return reconcile.Result{RequeueAfter: renewInterval}, err
		}
		defer leave()
		return r.Reconcile(ctx, request)
	})
}

// enterNamespace reports whether the namespace is ours: then it returns a function to call when the reconciliation has ended. It blocks until the
// Lease was looked at once.
func (c *Claims) enterNamespace(ctx context.Context, name string) (leave func(), err error) {
	select {
	case <-c.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n := c.findNamespace(name)
	if n == nil {
		return nil, context.Canceled
	}
	select {
	case <-n.looked:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return n.beginReconciliation(c.now()), nil
}

// findNamespace returns a namespace, whose Lease is kept from the first call on, or nil after the end.
func (c *Claims) findNamespace(name string) *namespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.namespaces[name]
	if n == nil && !c.stopped {
		n = &namespace{name: name, looked: make(chan struct{})}
		c.namespaces[name] = n
		c.keepers.Go(func() { c.keepLease(n) })
	}
	return n
}

// keepLease looks at the Lease of a namespace until the context ends, and releases it then.
func (c *Claims) keepLease(n *namespace) {
	var reported string
	report := func(text string, err error) {
		if text != reported && text != "" {
			c.log.Info(text, "namespace", n.name, "err", err)
		}
		reported = text
	}
	timer := time.NewTicker(renewInterval)
	defer timer.Stop()
	for first := true; ; first = false {
		ctx, cancel := context.WithTimeout(c.ctx, renewInterval)
		text, err := c.renewOrWait(ctx, n)
		cancel()
		report(text, err)
		if first {
			close(n.looked)
		}
		if errors.Is(err, errGone) {
			c.forgetNamespace(n)
			return
		}
		select {
		case <-c.ctx.Done():
			if !n.heldUntil().IsZero() && n.lease != nil {
				c.releaseLease(n, n.lease) // a later write stays: the next leader of this installation may hold it
			}
			return
		case <-timer.C:
		}
	}
}

// renewOrWait reads the Lease of a namespace, and takes, renews or leaves it. It returns the message to report.
func (c *Claims) renewOrWait(ctx context.Context, n *namespace) (text string, err error) {
	begin, wasWritten := c.now(), n.lease != nil
	lease, isNew, err := c.readLease(ctx, n)
	if err != nil {
		return c.withoutLease(n, err)
	}
	s := n.seen
	if !isNew { // a Lease that was deleted is not released
		s = n.recordSeen(begin, lease)
	}
	do := c.identity.decideStep(begin, s, lease.Annotations[annotationScope])
	switch {
	case do == giveUp:
		n.wasLost = true
		c.releaseLease(n, nil)
		return fmt.Sprintf("another operator (%s) manages the namespace from now on: it names it, and this operator manages all", s.wantedBy), nil
	case do != hold && !n.heldUntil().IsZero():
		n.setHeldUntil(time.Time{})
		n.wasLost = true
		return fmt.Sprintf("another operator (%s) has taken the namespace", s.holder), nil
	case do == hold && n.wasLost: // this process's memory of the namespace is out of date
		if begin.Sub(c.begun) < restartInterval {
			return fmt.Sprintf("nobody manages the namespace: this operator does when it has started again, %s after its start",
				restartInterval), nil
		}
		c.lost(fmt.Errorf("namespace %s was managed by another operator, and this one takes it again", n.name))
		return "", nil
	case do == wait:
		return fmt.Sprintf("another operator (%s) manages the namespace", s.holder), nil
	}
	c.identity.changeLease(begin, lease, do)
	if isNew {
		err = c.client.Create(ctx, lease)
	} else {
		err = c.client.Update(ctx, lease)
	}
	switch {
	case err != nil && wasWritten: // another program wrote it
		return c.renewOrWait(ctx, n)
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return "", nil // the next read shows the change
	case err != nil:
		return c.withoutLease(n, err)
	case do == ask:
		return fmt.Sprintf("another operator (%s) manages the namespace, and is asked to give it up", s.holder), nil
	}
	n.lease = lease
	n.setHeldUntil(begin.Add(holdDuration))
	return "", nil
}

// readLease returns the Lease of a namespace: this operator's last write, or the stored one, or a new one.
func (c *Claims) readLease(ctx context.Context, n *namespace) (lease *coordinationv1.Lease, isNew bool, err error) {
	if lease, n.lease = n.lease, nil; lease != nil {
		return lease, false, nil
	}
	lease = &coordinationv1.Lease{}
	err = c.client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: LeaseName}, lease)
	lease.Namespace, lease.Name = n.name, LeaseName
	return lease, apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// withoutLease decides about a failed request. In a namespace that is being deleted no Lease can be created, but finalizers must still
// be removed. Without rights for Leases the operator works as if no other existed.
func (c *Claims) withoutLease(n *namespace, err error) (string, error) {
	switch {
	case apierrors.IsNotFound(err):
		return "", errGone
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		if c.isFree(n) {
			n.setHeldUntil(c.now().Add(holdDuration))
		}
		return "", nil
	case apierrors.IsForbidden(err) && c.isFree(n):
		n.setHeldUntil(c.now().Add(holdDuration))
		return "cannot claim the namespace, so another operator may manage it, too", err
	}
	return "cannot read or write Lease " + LeaseName, err
}

// errGone: the namespace no longer exists.
var errGone = errors.New("the namespace does not exist")

// forgetNamespace drops a namespace that does not exist. One of that name is looked at when it has an object.
func (c *Claims) forgetNamespace(n *namespace) {
	n.setHeldUntil(time.Time{})
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.namespaces, n.name)
}

// releaseLease releases our Lease when no reconciliation runs in the namespace. It updates the last written Lease, or the stored one if
// that is nil.
func (c *Claims) releaseLease(n *namespace, lease *coordinationv1.Lease) {
	n.setHeldUntil(time.Time{})
	n.running.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), releaseTimeout)
	defer cancel()
	update := func() (err error) {
		last := lease
		if last == nil {
			last = &coordinationv1.Lease{}
			err = c.client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: LeaseName}, last)
		}
		if err != nil || holderOf(last) != c.identity.Name {
			return err
		}
		c.identity.changeLease(c.now(), last, giveUp)
		return c.client.Update(ctx, last)
	}
	isRetried := func(err error) bool { return lease == nil && apierrors.IsConflict(err) }
	err := retry.OnError(retry.DefaultRetry, isRetried, update)
	if n.lease = nil; client.IgnoreNotFound(err) != nil {
		c.log.Info("cannot release the namespace: others wait until the Lease expires", "namespace", n.name, "err", err)
	}
}

// releaseTimeout is how long the release of a Lease may take.
const releaseTimeout = 5 * time.Second

// beginReconciliation begins a reconciliation if the Lease is ours, and returns the function that ends it.
func (n *namespace) beginReconciliation(now time.Time) (end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !now.Before(n.until) {
		return nil
	}
	n.running.Add(1)
	return n.running.Done
}

func (n *namespace) heldUntil() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.until
}

func (n *namespace) setHeldUntil(until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = until
}

// recordSeen records an observation of the Lease.
func (n *namespace) recordSeen(now time.Time, l *coordinationv1.Lease) seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = n.seen.next(now, l)
	return n.seen
}

// isFree reports whether no other operator was seen to hold the Lease.
func (c *Claims) isFree(n *namespace) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen.holder == "" || n.seen.holder == c.identity.Name
}

// HolderOf returns the identity of the operator that manages a namespace, or an empty text, by a clock that may differ from the
// operator's by seconds. Without rights for Leases isKnown is false.
func HolderOf(ctx context.Context, c client.Client, namespace string, now time.Time) (name string, isKnown bool, err error) {
	lease := &coordinationv1.Lease{}
	err = c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName}, lease)
	switch {
	case apierrors.IsNotFound(err):
		return "", true, nil
	case apierrors.IsForbidden(err):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("reading Lease %s of namespace %s: %w", LeaseName, namespace, err)
	case lease.Spec.RenewTime == nil || now.Sub(lease.Spec.RenewTime.Time) >= 2*leaseDuration:
		return "", true, nil
	}
	return holderOf(lease), true, nil
}
