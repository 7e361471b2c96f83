package contract

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestSimulatedSlurm(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	file := filepath.Join(t.TempDir(), "jwt_hs256.key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	for release, versions := range map[string][]string{
		slurmtest.Release2411: {"v0.0.40", "v0.0.41", "v0.0.42"},
		slurmtest.Release2605: {"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"},
	} {
		for _, version := range versions {
			t.Run(release+"/"+version, func(t *testing.T) {
				t.Parallel()
				cluster := slurmtest.New(slurmtest.Config{
					Release: release, Key: key,
					Nodes:    []slurmtest.NodeConf{{Names: "n[1-4]", CPUs: 16, MemoryMiB: 64000, GRES: "gpu:h100:4"}},
					Licenses: []slurmtest.LicenseConf{{Name: "matlab", Total: 20}},
					Users: []slurmtest.UserConf{
						{Name: "root", Account: "root", Shares: 1, Admin: true},
						{Name: "slurm", UID: 64030, Account: "root", Shares: 1, Admin: true},
						{Name: "alice", UID: 3001, Account: "ml", Shares: 5},
						{Name: "carol", UID: 3003, Account: "hpc", Shares: 1},
					},
				})
				server := httptest.NewServer(cluster.Handler())
				t.Cleanup(server.Close)
				Run(t, Server{
					URL: server.URL, KeyFile: file, Advance: func() { cluster.Step(time.Second) },
					CreateNodes: func(_ context.Context, conf string) error { return cluster.CreateNodes(conf) },
				}, version)
			})
		}
	}
}
