package slurmtest_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// A client drains a node while a job runs on it.
func Example() {
	cluster := slurmtest.New(slurmtest.Config{Nodes: []slurmtest.NodeConf{{Names: "n[1-2]", CPUs: 4, MemoryMiB: 4000}}})
	server := httptest.NewServer(cluster.Handler())
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL,
		Token: slurmclient.TokenFromKey([]byte("any"), "root", time.Hour, time.Now)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = client.SubmitJob(ctx, slurm.JobRequest{Script: "#!/bin/sh\nsleep 60\n", Tasks: 4, Nodes: 1})
	fmt.Println(err)
	cluster.Step(10 * time.Second)
	fmt.Println(client.Drain(ctx, "n1", "repair"))
	for range 2 {
		n, _ := cluster.Node("n1")
		fmt.Println(n.State)
		cluster.Step(2 * time.Minute)
	}
	// Output:
	// <nil>
	// <nil>
	// ALLOCATED+DRAIN
	// IDLE+DRAIN
}
