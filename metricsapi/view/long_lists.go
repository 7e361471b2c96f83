package view

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// longLists bounds the memory of lists with more than maxItems objects: one of them is served at a time, until its response is
// written, and the others wait.
type longLists struct{ one *semaphore.Weighted }

// longListWithin is how long a long list waits for the one before. It is less than the time limit of requests.
const longListWithin = 30 * time.Second

func newLongLists() longLists { return longLists{semaphore.NewWeighted(1)} }

// waitForTurn returns at once if there are at most maxItems objects. Otherwise it waits until no other long list is served. The server
// cancels ctx when the response has been written, which lets the next list begin.
func (l longLists) waitForTurn(ctx context.Context, n schema.GroupResource, items int) error {
	if items <= maxItems {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, longListWithin)
	defer cancel()
	if l.one.Acquire(limited, 1) != nil {
		return apierrors.NewServerTimeout(n, "list", 1)
	}
	context.AfterFunc(ctx, func() { l.one.Release(1) })
	return nil
}
