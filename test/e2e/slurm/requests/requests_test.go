//go:build e2e

package requests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/e2e/slurm/contract"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

var (
	seed  = flag.Uint64("seed", 1, "seed of the random requests")
	count = flag.Int("requests", 60, "how many requests are submitted to each release")
)

// TestRequestsAreReadAsSlurmReadsThem compares random requests in every version of slurmrestd's API.
func TestRequestsAreReadAsSlurmReadsThem(t *testing.T) {
	var all []string
	for n := 40; n <= 45; n++ {
		all = append(all, fmt.Sprintf("v0.0.%d", n))
	}
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, release)
			jobs := c.submitRequests(generator{rand.New(rand.NewPCG(*seed, 0))}, *count)
			if len(jobs) < *count/4 {
				t.Fatalf("slurmctld accepted only %d of %d requests", len(jobs), *count)
			}
			c.askSlurm(jobs)
			token := slurmclient.TokenFromFile(c.TokenFile)
			versions, err := contract.ServedVersions(t.Context(), c.URL, token, all)
			if err != nil || len(versions) < 3 {
				t.Fatalf("the versions served are %v, %v", versions, err)
			}
			for _, version := range versions {
				t.Run(version, func(t *testing.T) {
					client, err := slurmclient.New(slurmclient.Config{URL: c.URL, Token: token, Version: version})
					if err != nil {
						t.Fatal(err)
					}
					defer client.Close()
					records, err := client.Jobs(t.Context(), 0)
					if err != nil {
						t.Fatal(err)
					}
					compareRecords(t, jobs, records.Items)
				})
			}
		})
	}
}
