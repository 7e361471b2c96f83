package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Peers returns the response of another replica to a request for a path, or an error if none of the replicas has it.
type Peers func(ctx context.Context, path string) ([]byte, error)

// StatesPath is the path under which a replica tells others which records it has shown.
const StatesPath = "/view/states/"

// peerState contains the records of a frame as one replica tells another: their keys and fingerprints.
type peerState []peerCluster

type peerCluster struct {
	Ref          ClusterRef `json:"ref"`
	Prefix       string     `json:"prefix"`
	Private      bool       `json:"private"`
	Known        bool       `json:"known"`
	Keys         []string   `json:"keys"`
	Fingerprints []uint64   `json:"fingerprints"`
}

func statePath(plural string, v version) string { return StatesPath + plural + "/" + v.String() }

// describe returns the state of a version that this replica has made, or nil if it is not kept. Records of which the client may have a
// later state have no fingerprint.
func (t *timeline[T]) describe(v version) peerState {
	if v.replica() != t.replica {
		return nil
	}
	f := t.frameToContinue(v)
	if f == nil {
		return nil
	}
	state := f.describe(t.resource)
	if !v.isPartial() {
		return state
	}
	uncertain := map[ClusterRef]map[string]bool{}
	for _, c := range t.changesAfter(f) {
		if uncertain[c.cluster.ref] == nil {
			uncertain[c.cluster.ref] = map[string]bool{}
		}
		uncertain[c.cluster.ref][t.resource.key(cmp.Or(c.now, c.old))] = true
	}
	out := make(peerState, len(state))
	for i, c := range state {
		out[i] = c.withoutFingerprints(uncertain[c.Ref])
	}
	return out
}

// describe returns the keys and fingerprints of the records of a frame. It computes them once, since that takes a third of a second for
// 100,000 records.
func (f *frame[T]) describe(n *resource[T]) peerState {
	f.describeOnce.Do(func() {
		f.state = make(peerState, 0, len(f.clusters))
		for _, p := range f.clusters {
			c := peerCluster{Ref: p.ref, Prefix: p.prefix, Private: p.private, Known: p.known,
				Keys: make([]string, len(p.records)), Fingerprints: make([]uint64, len(p.records))}
			for i, r := range p.records {
				c.Keys[i], c.Fingerprints[i] = n.key(r), n.fingerprint(r)
			}
			f.state = append(f.state, c)
		}
	})
	return f.state
}

// withoutFingerprints returns the cluster without the fingerprints of some keys, which it may not have.
func (c peerCluster) withoutFingerprints(uncertain map[string]bool) peerCluster {
	if len(uncertain) == 0 {
		return c
	}
	out := c
	out.Keys, out.Fingerprints = nil, nil
	for i, key := range c.Keys {
		if !uncertain[key] {
			out.Keys, out.Fingerprints = append(out.Keys, key), append(out.Fingerprints, c.Fingerprints[i])
		}
	}
	for key := range uncertain {
		out.Keys, out.Fingerprints = append(out.Keys, key), append(out.Fingerprints, 0)
	}
	return out
}

// serveStates responds to other replicas.
func (v *View) serveStates(w http.ResponseWriter, r *http.Request) {
	plural, text, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, StatesPath), "/")
	asked, err := strconv.ParseUint(text, 10, 64)
	describe := map[string]func(version) peerState{v.jobs.resource.plural: v.jobs.describe, v.nodes.resource.plural: v.nodes.describe,
		v.partitions.resource.plural: v.partitions.describe}[plural]
	if err != nil || describe == nil {
		http.Error(w, fmt.Sprintf("%s has no state of %s", StatesPath, r.URL.Path), http.StatusNotFound)
		return
	}
	state := describe(version(asked))
	if state == nil {
		http.Error(w, fmt.Sprintf("version %d is not kept, or of another replica", asked), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(state) // a client that has gone needs no response
}

// askPeers returns the state of a version of another replica, or nil if no replica tells it.
func (s *store[T]) askPeers(ctx context.Context, v version) peerState {
	if s.peers == nil {
		return nil
	}
	// Watches that begin at one version, as after a restart of the API server, ask once.
	state, err, _ := s.asked.Do(v.String(), func() (any, error) {
		body, err := s.peers(context.WithoutCancel(ctx), statePath(s.resource.plural, v))
		if err != nil {
			return nil, err
		}
		return parsePeerState(body)
	})
	if err != nil {
		s.onPeerFailure(err)
		return nil
	}
	return state.(peerState)
}

func parsePeerState(body []byte) (peerState, error) {
	state := peerState{}
	if err := json.Unmarshal(body, &state); err != nil {
		return nil, fmt.Errorf("the response of a replica: %w", err)
	}
	for _, c := range state {
		if len(c.Keys) != len(c.Fingerprints) {
			return nil, errors.New("the response of a replica has not as many fingerprints as keys")
		}
	}
	return state, nil
}

// changesFromPeer returns the changes from what another replica has shown to a frame. Their old records are guessed from an earlier
// frame, which may be nil.
func changesFromPeer[T any](n *resource[T], shown peerState, earlier, newest *frame[T]) []change[T] {
	var out []change[T]
	now := newest.describe(n)
	for i, p := range newest.clusters {
		had := shown.cluster(p.ref)
		before := earlier.cluster(p.ref)
		for j, r := range p.records {
			key := now[i].Keys[j]
			sum, ok := had[key]
			delete(had, key)
			switch {
			case !ok:
				out = append(out, change[T]{cluster: p, now: r})
			case sum != now[i].Fingerprints[j]:
				out = append(out, change[T]{cluster: p, old: recordOf(n, before, key), now: r, guessed: true})
			}
		}
		out = append(out, deletionsOf(n, p, before, had)...)
	}
	return out
}

// deletionsOf returns the deletions of records, by key, in their order.
func deletionsOf[T any](n *resource[T], p, before *clusterRecords[T], gone map[string]uint64) []change[T] {
	var out []change[T]
	for key := range gone {
		c := change[T]{cluster: p, old: n.withKey(key), guessed: true, ownerUnknown: true}
		if before != nil {
			if r, found := before.record(n, key); found {
				c.old, c.ownerUnknown = r, false
			}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b change[T]) int { return n.compare(a.old, b.old) })
	return out
}

// recordOf returns the record with a key, or one that has only the key.
func recordOf[T any](n *resource[T], p *clusterRecords[T], key string) *T {
	if p != nil {
		if r, found := p.record(n, key); found {
			return r
		}
	}
	return n.withKey(key)
}

// fits reports whether the replicas agree on the clusters that counts accepts. A replica learns of a cluster, of its PrivateData and of
// a second one with its name before the other one.
func (state peerState) fits(clusters []peerCluster, counts func(ClusterRef) bool) bool {
	type policy struct {
		prefix         string
		private, known bool
	}
	policies := func(all []peerCluster) map[ClusterRef]policy {
		out := map[ClusterRef]policy{}
		for _, c := range all {
			if counts(c.Ref) {
				out[c.Ref] = policy{c.Prefix, c.Private, c.Known}
			}
		}
		return out
	}
	return maps.Equal(policies(state), policies(clusters))
}

// cluster returns the fingerprints of a cluster's records by key.
func (state peerState) cluster(ref ClusterRef) map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range state {
		if c.Ref == ref {
			for i, key := range c.Keys {
				out[key] = c.Fingerprints[i]
			}
		}
	}
	return out
}
