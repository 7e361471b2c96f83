package nodeset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newObservation returns an observation of NodeSet gpu: idle workers of the newest revision, and a fresh
// reading.
func newObservation(workers int, change ...func(*observation)) *observation {
	s := &observation{
		nodeSet: nodesettest.NewNodeSet(int32(workers)), clusterRef: "slurm", revision: render.Revision{Hash: "new"},
		pods: map[string]*corev1.Pod{}, kubeNodes: map[string]*corev1.Node{}, slurmNodes: map[string]*slurm.Node{},
		expectations: &expectations.NodeSet{PendingWrites: map[string]expectations.PendingWrite{}},
		slurm: plan.SlurmReading{Connected: true, Known: true, Fresh: true, TotalNodes: workers,
			Records: map[string]plan.Record{}, Work: map[string]occupancy.Work{}},
	}
	for i := range workers {
		pod := nodesettest.NewWorkerPod(i)
		s.pods[pod.Name] = pod
		s.workers = append(s.workers, observed.Worker(pod, nil, nil))
		s.slurm.Records[pod.Name] = plan.Record{Name: pod.Name, Dynamic: true, OwnerUID: nodesettest.NodeSetUID}
	}
	top := workers
	s.desired = plan.Desired{UID: nodesettest.NodeSetUID, Replicas: workers, MaxWorkers: &top, CanCreateRecords: true,
		Revision: "new", SlurmName: func(i int) string { return fmt.Sprintf("gpu-%d", i) }}
	for _, c := range change {
		c(s)
	}
	return s
}
