package slurmclients

import (
	"errors"
	"testing"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// TestAFailedPollIsAProblemUntilTheNextReading: the cluster is dialled again when certificates change, and a new connection
// knows nothing at first.
func TestAFailedPollIsAProblemUntilTheNextReading(t *testing.T) {
	failed := errors.New("502 Bad Gateway")
	for _, tc := range []struct {
		name string
		fail func(*slurmclient.Snapshot)
	}{
		{"nodes", func(s *slurmclient.Snapshot) { s.Nodes.Err = failed }},
		{"jobs", func(s *slurmclient.Snapshot) { s.Jobs.Err = failed }},
	} {
		s := newCluster(refs.ClusterKey{}, refs.Endpoint{}, &Config{}, nil)
		if err := s.Err(); err != nil {
			t.Errorf("%s, before the first attempt: %v", tc.name, err)
		}
		last := &slurmclient.Snapshot{}
		last.Nodes.Known, last.Jobs.Known = true, true
		tc.fail(last)
		s.reading.Store(&Reading{Snapshot: last})
		if err := s.Err(); !errors.Is(err, failed) {
			t.Errorf("%s, without a connection: %v", tc.name, err)
		}
		s.connection.Store(&access.Connection{Cache: slurmclient.NewCache(nil, slurmclient.CacheConfig{})})
		if err := s.Err(); !errors.Is(err, failed) {
			t.Errorf("%s, with a connection that has read nothing: %v", tc.name, err)
		}
	}
}
