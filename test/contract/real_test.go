//go:build e2e

package contract

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/realslurm"
)

func TestRealSlurm(t *testing.T) {
	if missing := realslurm.Missing(); missing != "" {
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
			versions, err := Offered(t.Context(), cluster.URL, slurmclient.TokenFromFile(cluster.TokenFile), all)
			if err != nil || len(versions) < 3 {
				t.Fatalf("the versions served are %v, %v", versions, err)
			}
			for _, version := range versions {
				t.Run(version, func(t *testing.T) {
					Run(t, Server{URL: cluster.URL, KeyFile: cluster.KeyFile, Pass: func() {}}, version)
				})
			}
		})
	}
}
