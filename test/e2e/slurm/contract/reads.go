package contract

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func (s *suite) testLists(t *testing.T) {
	ctx := t.Context()
	nodes, err := s.client.Nodes(ctx, 0)
	must(t, err)
	if len(nodes.Items) < 4 || nodes.ServerTime == 0 || nodes.Server.Release == "" || nodes.Server.Cluster == "" {
		t.Errorf("%d nodes at %d of server %+v", len(nodes.Items), nodes.ServerTime, nodes.Server)
	}
	for _, n := range nodes.Items {
		one, err := s.client.Node(ctx, n.Name)
		if err != nil || one.Name != n.Name || one.CPUs != n.CPUs || one.CPUs == 0 || len(one.Partitions) == 0 {
			t.Errorf("node %s is %+v, %v", n.Name, one, err)
		}
	}
	partitions, err := s.client.Partitions(ctx, 0)
	must(t, err)
	if p := partitionNamed(partitions.Items, "batch"); p == nil || p.State != slurm.PartitionUp ||
		p.TotalNodes == 0 || p.Nodes == "" {
		t.Errorf("the partition batch is %+v", p)
	}
	pings, err := s.client.Ping(ctx)
	must(t, err)
	if len(pings) == 0 || !pings[0].Responding || !pings[0].Primary || pings[0].Hostname == "" {
		t.Errorf("the pings are %+v", pings)
	}
	stats, err := s.client.Stats(ctx)
	must(t, err)
	if !stats.At.IsSet() || stats.ServerThreads == 0 {
		t.Errorf("the statistics are %+v", stats)
	}
	conf, err := s.client.Conf(ctx)
	if s.client.Version() < "v0.0.45" {
		wantCode(t, "the configuration", err, slurmclient.CodeUnsupported)
	} else if err != nil || len(conf.PrivateData) != 0 {
		t.Errorf("the configuration is %+v, %v", conf, err)
	}
	s.testOtherLists(t)
}

// testOtherLists reads shares, licenses and the lists of slurmdbd.
func (s *suite) testOtherLists(t *testing.T) {
	count := func(name string, n int, err error) {
		if err != nil || n == 0 {
			t.Errorf("%d %s, %v", n, name, err)
		}
	}
	ctx := t.Context()
	shares, err := s.client.Shares(ctx)
	count("shares", len(shares.Items), err)
	licenses, err := s.client.Licenses(ctx)
	count("licenses", len(licenses.Items), err)
	associations, err := s.client.Associations(ctx)
	count("associations", len(associations.Items), err)
	accounts, err := s.client.Accounts(ctx)
	count("accounts", len(accounts.Items), err)
	users, err := s.client.Users(ctx)
	count("users", len(users.Items), err)
	qos, err := s.client.QOS(ctx)
	count("QOS", len(qos.Items), err)
}

func partitionNamed(list []*slurm.Partition, name string) *slurm.Partition {
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (s *suite) testNotFound(t *testing.T) {
	ctx := t.Context()
	_, err := s.client.Node(ctx, "nosuch")
	wantCode(t, "an unknown node", err, slurmclient.CodeNotFound)
	_, err = s.client.Job(ctx, 60_000_000)
	wantCode(t, "an unknown job", err, slurmclient.CodeNotFound)
	wantCode(t, "draining an unknown node", s.client.Drain(ctx, "nosuch", "test"), slurmclient.CodeNotFound)
	wantCode(t, "deleting an unknown node", s.client.DeleteNode(ctx, "nosuch"), slurmclient.CodeNotFound)
	if s.reportsCancelErrors() {
		wantCode(t, "cancelling an unknown job", s.client.CancelJob(ctx, "60000000"), slurmclient.CodeNotFound)
	}
	states, err := s.client.JobStates(ctx, 60_000_000)
	if err != nil || len(states) != 0 {
		t.Errorf("the states of an unknown job are %v, %v", states, err)
	}
}

func (s *suite) testTokens(t *testing.T) {
	for name, token := range map[string]slurmclient.TokenSource{
		"no token": nil,
		"garbage":  fixedToken("garbage"),
		"another key": slurmclient.TokenFromKey([]byte("this is another key than that of slurmctld"), "slurm",
			tokenLifetime, systemClock),
	} {
		client := s.clientWith(t, token)
		_, err := client.Nodes(t.Context(), 0)
		wantCode(t, "nodes with "+name, err, slurmclient.CodeUnauthorized)
		_, err = client.Jobs(t.Context(), 0)
		wantCode(t, "jobs with "+name, err, slurmclient.CodeUnauthorized)
		wantCode(t, "a drain with "+name, client.Drain(t.Context(), "n1", "test"), slurmclient.CodeUnauthorized)
	}
}

func (s *suite) testUnchanged(t *testing.T) {
	nodes, err := s.client.Nodes(t.Context(), 0)
	must(t, err)
	jobs, err := s.client.Jobs(t.Context(), 0)
	must(t, err)
	partitions, err := s.client.Partitions(t.Context(), 0)
	must(t, err)
	// update_time has a resolution of one second: the second of a change counts as changed.
	s.eventually(t, "unchanged nodes", func(ctx context.Context) (bool, error) {
		l, err := s.client.Nodes(ctx, nodes.ServerTime)
		nodes.ServerTime = max(nodes.ServerTime, l.ServerTime)
		return isUnchangedAnswer(err)
	})
	s.eventually(t, "unchanged jobs", func(ctx context.Context) (bool, error) {
		l, err := s.client.Jobs(ctx, jobs.ServerTime)
		jobs.ServerTime = max(jobs.ServerTime, l.ServerTime)
		return isUnchangedAnswer(err)
	})
	s.eventually(t, "unchanged partitions", func(ctx context.Context) (bool, error) {
		l, err := s.client.Partitions(ctx, partitions.ServerTime)
		partitions.ServerTime = max(partitions.ServerTime, l.ServerTime)
		return isUnchangedAnswer(err)
	})
}

// isUnchangedAnswer returns true for an unchanged list, false for a changed one, and any other
// error.
func isUnchangedAnswer(err error) (bool, error) {
	if slurmclient.IsUnchanged(err) {
		return true, nil
	}
	return false, err
}

// testNodeGate changes only a node. Old servers fail if nodes changed since update_time and
// partitions did not.
func (s *suite) testNodeGate(t *testing.T) {
	var since slurm.Time
	s.eventually(t, "unchanged nodes", func(ctx context.Context) (bool, error) {
		l, err := s.client.Nodes(ctx, since)
		since = max(since, l.ServerTime)
		return isUnchangedAnswer(err)
	})
	must(t, s.client.Drain(t.Context(), "n4", "contract"))
	defer func() { must(t, s.client.Undrain(t.Context(), "n4")) }()
	s.eventually(t, "the drained node in the gated list", func(ctx context.Context) (bool, error) {
		l, err := s.client.Nodes(ctx, since)
		if slurmclient.IsUnchanged(err) {
			return false, nil
		}
		for _, n := range l.Items {
			if n.Name == "n4" {
				return n.State.Has(slurm.NodeDrain) && n.Reason == "contract", err
			}
		}
		return false, err
	})
}

// testJobReaders compares what the list reader and the delta reader publish.
func (s *suite) testJobReaders(t *testing.T) {
	ids := []uint32{s.submit(t, s.client, slurm.JobRequest{Hold: true}),
		s.submit(t, s.client, slurm.JobRequest{Array: "0-5%2", Hold: true})}
	defer s.cancelAll(t, ids...)
	var got []map[uint32]slurm.Job
	for _, reader := range []slurmclient.JobsReader{slurmclient.ReadList, slurmclient.ReadDelta} {
		cache := slurmclient.NewCache(s.client, slurmclient.CacheConfig{
			JobsReader: reader, Resources: []slurmclient.Resource{slurmclient.Jobs},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { cache.Run(ctx); close(done) }()
		err := cache.Refresh(ctx, slurmclient.Jobs)
		cancel()
		<-done
		must(t, err)
		jobs := map[uint32]slurm.Job{}
		for _, j := range cache.Snapshot().Jobs.Value {
			copied := *j
			copied.LastSchedEval = 0 // the scheduler keeps evaluating jobs
			jobs[j.ID] = copied
		}
		got = append(got, jobs)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("the delta reader (+) differs from the list (-):\n%s", diff)
	}
	for _, id := range ids {
		if _, ok := got[0][id]; !ok {
			t.Errorf("job %d is not in the list", id)
		}
	}
}
