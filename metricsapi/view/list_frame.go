package view

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"
)

const (
	// newerWithin is how much longer than a poll a list waits for facts that are as new as the client asks for; in Kubernetes, 3 s.
	newerWithin = 3 * time.Second
	// pageWithin is how long a page waits for facts that are as new as the pages that another replica has served. It is less than
	// the time limit of requests.
	pageWithin = 45 * time.Second
)

// listFrame is the frame of a list.
type listFrame[T any] struct {
	frame *frame[T]
	// version is the list's. A watch from there misses no change of any page.
	version version
	// others are the versions of the frames that other replicas use for this list.
	others []version
	// after is the position after which the page begins, nil for the beginning.
	after *continueToken
}

// frameToList returns the frame of a list. It may wait for a reading of Slurm.
func (s *store[T]) frameToList(ctx context.Context, q *query[T], opts *internalversion.ListOptions) (listFrame[T], error) {
	if opts.Continue != "" {
		return s.frameToContinue(ctx, q, opts.Continue)
	}
	asked, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return listFrame[T]{}, err
	}
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		if f := s.timeline.ownFrame(asked); f != nil {
			return listFrame[T]{frame: f, version: asked}, nil
		}
		return listFrame[T]{}, newExpired(asked)
	}
	if err := s.waitForVersion(ctx, q, asked); err != nil {
		return listFrame[T]{}, err
	}
	return listFrame[T]{frame: q.newest, version: s.timeline.versionOfState(q.newest)}, nil
}

// frameToContinue returns the frame of the next page. If another replica served the pages before, this is the newest frame, as soon
// as it is as new as those pages: no record is missing or listed twice, but some are from one frame and some from the other.
func (s *store[T]) frameToContinue(ctx context.Context, q *query[T], token string) (listFrame[T], error) {
	p, err := parseContinueToken(token)
	if err != nil {
		return listFrame[T]{}, err
	}
	if p.Version == 0 {
		return listFrame[T]{frame: q.newest, version: s.timeline.versionOfState(q.newest), after: &p}, nil
	}
	out := listFrame[T]{version: p.Version, others: p.Others, after: &p}
	for _, v := range append([]version{p.Version}, p.Others...) {
		if out.frame = s.timeline.ownFrame(v); out.frame != nil {
			return out, nil
		}
		if v.replica() == s.timeline.replica {
			return out, newExpiredList(p)
		}
	}
	since, known := p.Version.factsSince()
	if !known || len(p.Others) >= maxReplicas {
		return out, newExpiredList(p)
	}
	if !s.waitForFacts(ctx, q, since.Add(clockSkew), pageWithin) {
		return out, newExpiredList(p)
	}
	out.frame, out.others = q.newest, append(p.Others, q.newest.version)
	return out, nil
}

// newExpiredList returns an error with a token that continues the list with the newest version.
func newExpiredList(p continueToken) error {
	gone := apierrors.NewResourceExpired("the version at which the list began is no longer available: list again, or continue " +
		"with the continue token of this response, which uses the newest version")
	gone.ErrStatus.ListMeta.Continue = continueToken{Ref: p.Ref, Key: p.Key}.encode()
	return gone
}

// waitForVersion waits until the newest frame is at least as new as a version that a client has seen, of this replica or another one.
func (s *store[T]) waitForVersion(ctx context.Context, q *query[T], seen version) error {
	if seen.replica() == s.timeline.replica && seen <= s.timeline.latestVersion() || seen == 0 {
		return nil
	}
	limit := min(newerWithin+s.longestPoll(q.criteria.covers), pageWithin)
	if seen.at().After(s.clock().Add(clockSkew)) || !s.waitForFacts(ctx, q, seen.at().Add(clockSkew), limit) {
		return storage.NewTooLargeResourceVersionError(uint64(seen), uint64(q.newest.version), 1)
	}
	return nil
}

// waitForFacts waits until all facts of the clusters that the query covers were right at a time or later, and sets the newest frame.
// It returns false if that takes too long or ctx ends.
func (s *store[T]) waitForFacts(ctx context.Context, q *query[T], since time.Time, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		changed := s.directory.Changed()
		if s.hasFactsSince(q.criteria.covers, since) {
			f, err := s.timeline.refresh()
			if err != nil {
				return false
			}
			// PrivateData may have changed meanwhile.
			v, err := s.viewer(ctx, f, q.criteria.covers)
			if err != nil {
				return false
			}
			q.newest, q.viewer = f, v
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// hasFactsSince reports whether all facts of the clusters that counts accepts were right at a time or later.
func (s *store[T]) hasFactsSince(counts func(ClusterRef) bool, since time.Time) bool {
	sources, err := s.directory.Sources()
	if err != nil {
		return false
	}
	for _, source := range sources {
		if !counts(source.Ref) {
			continue
		}
		snapshot, err := source.Snapshot()
		if err != nil {
			return false
		}
		if _, poll := s.resource.read(snapshot); !poll.Known || poll.AsOf().Before(since) {
			return false
		}
	}
	return true
}

// longestPoll returns how long it takes at most until the next reading of a cluster that counts accepts.
func (s *store[T]) longestPoll(counts func(ClusterRef) bool) time.Duration {
	longest := time.Duration(0)
	sources, err := s.directory.Sources()
	if err != nil {
		return 0
	}
	for _, source := range sources {
		if snapshot, err := source.Snapshot(); err == nil && counts(source.Ref) {
			_, poll := s.resource.read(snapshot)
			longest = max(longest, poll.Period+2*poll.Took)
		}
	}
	return longest
}
