package slurmtest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestLimitsAreAbsentWithoutSlurmdbd(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, version string) {
		s := readLimits(t, slurmtest.New(slurmtest.Config{Now: testClock, Release: release, NoAccounting: true}),
			version)
		for _, p := range []slurmclient.Poll{s.QOS.Poll, s.Associations.Poll, s.Accounts.Poll, s.Users.Poll} {
			if !p.Known || p.Err != nil || !p.Absent {
				t.Errorf("%s: known %v, absent %v, %v", p.Resource, p.Known, p.Absent, p.Err)
			}
		}
	})
}

func TestLimitsAreUnknownWhenSlurmdbdDoesNotAnswer(t *testing.T) {
	for name, fault := range map[string]slurmtest.Fault{
		"not served":  {PathPrefix: "/slurmdb/", Kind: slurmtest.FaultStatus, Status: 404},
		"unavailable": {PathPrefix: "/slurmdb/", Kind: slurmtest.FaultStatus, Status: 502},
	} {
		t.Run(name, func(t *testing.T) {
			c := slurmtest.New(slurmtest.Config{Now: testClock})
			c.InjectFault(fault)
			for _, p := range []slurmclient.Poll{readLimits(t, c, "").QOS.Poll,
				readLimits(t, c, "v0.0.44").Associations.Poll} {
				if p.Known || p.Err == nil || p.Absent {
					t.Errorf("%s: known %v, absent %v, %v", p.Resource, p.Known, p.Absent, p.Err)
				}
			}
		})
	}
}

func TestLimitsAreUnknownInAnUnservedVersion(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{Now: testClock, Release: slurmtest.Release2411, NoAccounting: true})
	if p := readLimits(t, c, "v0.0.45").QOS; p.Known || p.Absent {
		t.Errorf("known %v, absent %v", p.Known, p.Absent)
	}
}

// readLimits reads the resources of slurmdbd once.
func readLimits(t *testing.T, c *slurmtest.Cluster, version string) *slurmclient.Snapshot {
	t.Helper()
	resources := []slurmclient.Resource{slurmclient.QOS, slurmclient.Associations, slurmclient.Accounts,
		slurmclient.Users}
	k := slurmclient.NewCache(newClient(t, c, version),
		slurmclient.CacheConfig{Period: time.Hour, Slow: time.Hour, Resources: resources})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx) })
	defer func() { cancel(); wg.Wait() }()
	_ = k.Refresh(ctx, resources...) // the snapshot contains the errors
	return k.Snapshot()
}
