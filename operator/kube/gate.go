package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/holder"
)

// Gate reads the objects of a kind for their reconciler, and keeps it away from those that another operator holds. It
// reports the hold in the condition Ready, and writes nothing else.
type Gate struct {
	writer Writer
	now    func() time.Time
	// reports has the last report of each held object, by client.ObjectKey.
	reports sync.Map
}

// NewGate returns a Gate that reads and writes through c as a field manager, by the clock now.
func NewGate(c client.Client, owner client.FieldOwner, now func() time.Time) *Gate {
	return &Gate{writer: Writer{Client: c, Owner: owner}, now: now}
}

// reportInterval is how often a hold is reported if the other operator removes the report. Each report may cause a
// write of the other operator.
const reportInterval = 10 * time.Minute

// Enter reads an object, and reports whether its reconciler may work on it. It returns false if the object is missing. If another
// operator holds the object, it writes that into the condition Ready, and returns an error that ResultOf turns into a requeue.
func (g *Gate) Enter(ctx context.Context, key client.ObjectKey, into Held) (bool, error) {
	found, err := g.writer.Find(ctx, key, into)
	if !found {
		g.reports.Delete(key)
		return false, err
	}
	now := g.now()
	hold, held := holder.Of(now, into)
	if !held {
		g.reports.Delete(key)
		return true, nil
	}
	if err := g.reportHold(ctx, now, into, hold); err != nil {
		return false, err
	}
	return false, errHeld
}

// reportHold reports a hold in the condition Ready of an object.
func (g *Gate) reportHold(ctx context.Context, now time.Time, o Held, hold holder.Hold) error {
	key := client.ObjectKeyFromObject(o)
	if last, ok := g.reports.Load(key); ok {
		if last, ok := last.(report); ok && last.reason == hold.Reason && now.Before(last.at.Add(reportInterval)) {
			return nil
		}
	}
	written, err := UpdateStatus(ctx, g.writer, o, nil, func(next Held) { holder.SetReady(now, next, hold) })
	if written {
		g.reports.Store(key, report{now, hold.Reason})
	}
	return err
}

// report is when a hold was reported, and its reason.
type report struct {
	at     time.Time
	reason string
}

// EnterLive is Enter for a reconciler without a finalizer: it returns false also if the object is being deleted.
func (g *Gate) EnterLive(ctx context.Context, key client.ObjectKey, into Held) (bool, error) {
	found, err := g.Enter(ctx, key, into)
	return found && into.GetDeletionTimestamp().IsZero(), err
}

// Held is an object that another operator may hold.
type Held interface {
	holder.Object
	runtime.Object
}

// CheckHolder returns an error, of which ResultOf makes a later reconciliation, if another operator holds an object.
// It is for reconcilers beside that of the kind, which reports the hold.
func CheckHolder(now time.Time, o holder.Object) error {
	if _, held := holder.Of(now, o); held {
		return errHeld
	}
	return nil
}

// errHeld says that another operator holds an object.
var errHeld = errors.New("another operator holds the object")
