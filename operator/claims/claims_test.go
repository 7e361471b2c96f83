package claims

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newStore(t *testing.T) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).Build()
}

// operator reconciles an object of the namespace "slurm" each second.
type operator struct {
	claims *Claims
	cancel context.CancelFunc
	ended  chan error // of capacity 1
	// passes counts its reconciliations.
	passes atomic.Int64
}

// busy counts the operators that reconcile at once.
type busy struct{ count, overlaps atomic.Int64 }

// startOperator starts an operator. A crashed operator neither releases nor renews its Lease.
func startOperator(t *testing.T, store client.Client, id Identity, b *busy) *operator {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o := &operator{claims: New(id, store, logr.Discard()), cancel: cancel, ended: make(chan error, 1)}
	r := o.claims.Guard(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		if b.count.Add(1) > 1 {
			b.overlaps.Add(1)
		}
		time.Sleep(700 * time.Millisecond)
		b.count.Add(-1)
		o.passes.Add(1)
		return reconcile.Result{}, nil
	}))
	running, stop := context.WithCancel(ctx)
	looped := make(chan struct{})
	go func() {
		err := o.claims.Start(ctx)
		stop() // as a manager does
		<-looped
		o.ended <- err
	}()
	go func() {
		defer close(looped)
		for running.Err() == nil {
			_, _ = r.Reconcile(running, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "slurm", Name: "cpu"}}) //nolint:errcheck // it is tried again
			select {
			case <-running.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return o
}

// passesIn returns how often the operators reconcile in a time.
func passesIn(d time.Duration, operators ...*operator) []bool {
	before := make([]int64, len(operators))
	for i, o := range operators {
		before[i] = o.passes.Load()
	}
	time.Sleep(d)
	out := make([]bool, len(operators))
	for i, o := range operators {
		out[i] = o.passes.Load() > before[i]
	}
	return out
}

var (
	ofAll    = Identity{Name: "ops"}
	ofAllToo = Identity{Name: "ops2"}
	named    = Identity{Name: "slurm", NamesNamespaces: true}
	namedToo = Identity{Name: "slurm2", NamesNamespaces: true}
)

func TestOneOperatorWorksInANamespace(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second Identity
		wantFirst     bool // whether the first one works at the end, and otherwise the second
	}{
		{"of all", ofAll, ofAllToo, true},
		{"named", named, namedToo, true},
		{"the first is named", named, ofAll, true},
		{"the second is named", ofAll, named, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, b := newStore(t), &busy{}
				first := startOperator(t, store, tc.first, b)
				if got := passesIn(time.Second, first); !got[0] {
					t.Fatal("the first one does not work at once")
				}
				second := startOperator(t, store, tc.second, b)
				time.Sleep(time.Minute)
				got := passesIn(10*time.Second, first, second)
				if got[0] != tc.wantFirst || got[1] == tc.wantFirst {
					t.Errorf("the first works: %v, the second: %v", got[0], got[1])
				}
				if !tc.wantFirst {
					first.cancel()
					<-first.ended
					again := startOperator(t, store, tc.first, b) // as the kubelet does
					time.Sleep(2 * time.Minute)
					if got := passesIn(10*time.Second, again, second); got[0] || !got[1] {
						t.Errorf("after a restart the first works: %v, the second: %v", got[0], got[1])
					}
					again.cancel()
					<-again.ended
				} else { // it is uninstalled: the second one takes over
					first.cancel()
					if err := <-first.ended; err != nil {
						t.Error(err)
					}
					time.Sleep(15 * time.Second)
					if got := passesIn(2*time.Second, second); !got[0] {
						t.Error("the second does not take over from one that has ended")
					}
				}
				second.cancel()
				<-second.ended
				if n := b.overlaps.Load(); n > 0 {
					t.Errorf("%d times two worked at once", n)
				}
			})
		})
	}
}

// TestACrashedOperatorIsSucceeded: its Lease expires by the clock of the other one, and it finds its own Lease when it starts again.
func TestACrashedOperatorIsSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newStore(t), &busy{}
		var crashed atomic.Bool
		dead := interceptor.NewClient(store, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
				if crashed.Load() {
					return errors.New("dead")
				}
				return c.Get(ctx, key, into, o...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
				if crashed.Load() {
					return errors.New("dead")
				}
				return c.Update(ctx, o, options...)
			}})
		first := startOperator(t, dead, named, b)
		time.Sleep(5 * time.Second)
		crashed.Store(true)
		first.cancel()
		<-first.ended
		again := startOperator(t, store, named, b)
		if got := passesIn(3*time.Second, again); !got[0] {
			t.Error("it does not work at once after a crash")
		}
		again.cancel()
		<-again.ended
		time.Sleep(time.Second)
		crashed.Store(false)
		third := startOperator(t, dead, named, b)
		time.Sleep(5 * time.Second)
		crashed.Store(true)
		third.cancel()
		<-third.ended
		other := startOperator(t, store, ofAll, b)
		if got := passesIn(leaseDuration-time.Second, other); got[0] {
			t.Error("another one works before the Lease expires")
		}
		time.Sleep(renewInterval + 2*time.Second)
		if got := passesIn(15*time.Second, other); !got[0] {
			t.Error("another one does not take over")
		}
		other.cancel()
		<-other.ended
	})
}

// TestANamespaceThatIsBeingDeleted: its Lease is gone, but its objects have finalizers. Without rights for Leases the operator works.
func TestANamespaceThatIsBeingDeleted(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, LeaseName, errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, LeaseName, errors.New("no rights"))
	for name, err := range map[string]error{"terminating": terminating, "no rights": forbidden} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := interceptor.NewClient(newStore(t), interceptor.Funcs{
					Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err }})
				o := startOperator(t, store, ofAll, &busy{})
				time.Sleep(time.Minute)
				if got := passesIn(5*time.Second, o); !got[0] {
					t.Error("it does not work")
				}
				o.cancel()
				<-o.ended
			})
		})
	}
}

// TestAnOperatorStartsAgainForWhatItHasLost, when it may have it again, and not more often than each restartInterval.
func TestAnOperatorStartsAgainForWhatItHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newStore(t), &busy{}
		begin := time.Now()
		first := startOperator(t, store, ofAll, b)
		time.Sleep(time.Second)
		second := startOperator(t, store, named, b)
		time.Sleep(time.Minute)
		second.cancel()
		<-second.ended
		if err := <-first.ended; err == nil || time.Since(begin) < restartInterval || time.Since(begin) > restartInterval+time.Minute {
			t.Errorf("it ends after %v: %v", time.Since(begin), err)
		}
	})
}

// TestAStandbyStaysOne: a refused request, a deleted Lease and an outage of the API server do not end its standby.
func TestAStandbyStaysOne(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, LeaseName, errors.New("roles are not known yet"))
	for name, disturb := range map[string]func(client.Client, *atomic.Pointer[error], *atomic.Pointer[error]){
		"refused once": func(_ client.Client, _, ofStandby *atomic.Pointer[error]) {
			ofStandby.Store(new(error(forbidden)))
			time.Sleep(renewInterval)
			ofStandby.Store(nil)
		},
		"the Lease is deleted": func(store client.Client, _, _ *atomic.Pointer[error]) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: LeaseName}}
			_ = store.Delete(context.Background(), lease) //nolint:errcheck // the operators show it
		},
		"an outage": func(_ client.Client, ofHolder, ofStandby *atomic.Pointer[error]) {
			ofHolder.Store(new(errors.New("no route")))
			ofStandby.Store(new(errors.New("no route")))
			time.Sleep(5 * time.Minute)
			ofStandby.Store(nil)
			time.Sleep(renewInterval + time.Second)
			ofHolder.Store(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, b := newStore(t), &busy{}
				var ofHolder, ofStandby atomic.Pointer[error]
				failing := func(p *atomic.Pointer[error]) client.Client {
					return interceptor.NewClient(store, interceptor.Funcs{
						Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
							if err := p.Load(); err != nil {
								return *err
							}
							return c.Get(ctx, key, into, o...)
						},
						Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
							if err := p.Load(); err != nil {
								return *err
							}
							return c.Update(ctx, o, options...)
						}})
				}
				holder := startOperator(t, failing(&ofHolder), ofAll, b)
				time.Sleep(3 * time.Second)
				standby := startOperator(t, failing(&ofStandby), ofAllToo, b)
				time.Sleep(time.Minute)
				disturb(store, &ofHolder, &ofStandby)
				if got := passesIn(time.Minute, holder, standby); !got[0] || got[1] {
					t.Errorf("the holder works: %v, the standby: %v", got[0], got[1])
				}
				for _, o := range []*operator{holder, standby} {
					o.cancel()
					if err := <-o.ended; err != nil {
						t.Error(err)
					}
				}
				if n := b.overlaps.Load(); n > 0 {
					t.Errorf("%d times two worked at once", n)
				}
			})
		})
	}
}

// TestANamespaceThatIsGone is no longer requested.
func TestANamespaceThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "slurm")
		store := interceptor.NewClient(newStore(t), interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				requests.Add(1)
				return gone
			}})
		ctx, cancel := context.WithCancel(t.Context())
		c, ended := New(ofAll, store, logr.Discard()), make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		if leave, err := c.enterNamespace(ctx, "slurm"); leave != nil || err != nil {
			t.Errorf("it works there: %v", err)
		}
		time.Sleep(time.Hour)
		if n := requests.Load(); n != 1 {
			t.Errorf("there are %d requests", n)
		}
		cancel()
		<-ended
	})
}

// TestNoTwoWorkAtOnce: operators start, end, crash, and cannot reach the API server at random times.
func TestNoTwoWorkAtOnce(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			store, b := newStore(t), &busy{}
			identities := []Identity{ofAll, ofAllToo, named, namedToo}
			down := make([]atomic.Bool, len(identities))
			running := make([]*operator, len(identities))
			var mu sync.Mutex
			var log []string
			note := func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				log = append(log, fmt.Sprintf(format, args...))
			}
			fail := func(i int) error {
				if down[i].Load() {
					return errors.New("no route to host")
				}
				return nil
			}
			clientOf := func(i int) client.Client {
				return interceptor.NewClient(store, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
						if err := fail(i); err != nil {
							return err
						}
						return c.Get(ctx, key, into, o...)
					},
					Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
						if err := fail(i); err != nil {
							return err
						}
						return c.Update(ctx, o, options...)
					}})
			}
			for range 40 {
				i := random.IntN(len(identities))
				switch {
				case running[i] == nil:
					down[i].Store(false)
					note("%v start %s", time.Now(), identities[i].Name)
					running[i] = startOperator(t, clientOf(i), identities[i], b)
				case random.IntN(3) == 0:
					down[i].Store(!down[i].Load())
					note("%v reaches %s: %v", time.Now(), identities[i].Name, !down[i].Load())
				default:
					note("%v end %s", time.Now(), identities[i].Name)
					running[i].cancel()
					<-running[i].ended
					running[i] = nil
				}
				time.Sleep(time.Duration(random.IntN(45_000)) * time.Millisecond)
				for i, o := range running {
					if o == nil {
						continue
					}
					select {
					case <-o.ended: // it has lost the namespace
						o.cancel()
						running[i] = nil
					default:
					}
				}
			}
			for i, o := range running {
				down[i].Store(false)
				if o != nil {
					o.cancel()
					<-o.ended
				}
			}
			if n := b.overlaps.Load(); n > 0 {
				t.Errorf("seed %d: %d times two worked at once:\n%s", seed, n, strings.Join(log, "\n"))
			}
		})
	}
}
