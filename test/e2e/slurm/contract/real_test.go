//go:build e2e

package contract

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

func TestRealSlurm(t *testing.T) {
	t.Parallel()
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	var all []string
	for n := 40; n <= 45; n++ {
		all = append(all, fmt.Sprintf("v0.0.%d", n))
	}
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			versions, err := ServedVersions(t.Context(), cluster.URL, slurmclient.TokenFromFile(cluster.TokenFile), all)
			if err != nil || len(versions) < 3 {
				t.Fatalf("the versions served are %v, %v", versions, err)
			}
			for _, version := range versions {
				t.Run(version, func(t *testing.T) {
					Run(t, Server{
						URL: cluster.URL, KeyFile: cluster.KeyFile, Advance: func() {},
						CreateNodes: func(ctx context.Context, conf string) error {
							_, err := cluster.Run(ctx, "",
								append([]string{"scontrol", "create"}, strings.Fields(conf)...)...)
							return err
						},
					}, version)
				})
			}
		})
	}
}

// TestRealControllerDownOrHung stops and suspends slurmctld while slurmrestd keeps running.
func TestRealControllerDownOrHung(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, WithoutAccounting: true})
			must(t, err)
			t.Cleanup(func() { must(t, cluster.Close()) })
			client, err := slurmclient.New(slurmclient.Config{
				URL: cluster.URL, Token: slurmclient.TokenFromFile(cluster.TokenFile), Timeout: time.Minute,
			})
			must(t, err)
			t.Cleanup(client.Close)
			_, err = client.Nodes(t.Context(), 0)
			must(t, err)

			must(t, cluster.Stop(t.Context(), "slurmctld"))
			_, err = client.Nodes(t.Context(), 0)
			wantCode(t, "nodes while slurmctld is down", err, slurmclient.CodeUnavailable)
			_, err = client.Jobs(t.Context(), 0)
			wantCode(t, "jobs while slurmctld is down", err, slurmclient.CodeUnavailable)
			_, err = client.Job(t.Context(), 1)
			wantCode(t, "a job while slurmctld is down", err, slurmclient.CodeUnavailable)
			_, err = client.Node(t.Context(), "n1")
			wantCode(t, "a node while slurmctld is down", err, slurmclient.CodeUnavailable)
			_, err = client.JobStates(t.Context(), 1)
			wantCode(t, "a job's state while slurmctld is down", err, slurmclient.CodeUnavailable)
			wantCode(t, "a drain while slurmctld is down", client.Drain(t.Context(), "n1", "x"),
				slurmclient.CodeUnavailable)
			pings, err := client.Ping(t.Context())
			if err != nil || len(pings) != 1 || pings[0].Responding {
				t.Errorf("the pings are %+v, %v", pings, err)
			}
			must(t, cluster.Start(t.Context(), "slurmctld"))
			s := &suite{server: Server{Advance: func() {}}}
			s.eventually(t, "slurmctld to answer again", func(ctx context.Context) (bool, error) {
				_, err := client.Nodes(ctx, 0)
				return err == nil, nil
			})

			must(t, cluster.Signal(t.Context(), "slurmctld", syscall.SIGSTOP))
			_, err = client.Nodes(t.Context(), 0)
			wantCode(t, "nodes while slurmctld hangs", err, slurmclient.CodeUnavailable)
			must(t, cluster.Signal(t.Context(), "slurmctld", syscall.SIGCONT))
			s.eventually(t, "slurmctld to continue", func(ctx context.Context) (bool, error) {
				_, err := client.Nodes(ctx, 0)
				return err == nil, nil
			})
		})
	}
}
