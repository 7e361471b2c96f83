package slurm

import (
	"maps"
	"testing"
)

// TestGPUsOfJobs: the texts come from a Slurm with the default AccountingStorageTRES, unless they name gres.
func TestGPUsOfJobs(t *testing.T) {
	const plain = "cpu=4,mem=400M,node=2,billing=4"
	for name, tc := range map[string]struct {
		job                  Job
		requested, allocated string
		known                bool // of both
	}{
		"no GPUs": {Job{TRESRequested: plain, TRESAllocated: plain}, plain, plain, true},
		"slurmctld counts them": {Job{TRESRequested: plain + ",gres/gpu=4", TRESAllocated: plain + ",gres/gpu=4,gres/gpu:h100=4",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:2", GRESAllocated: "gres/gpu=4,gres/gpu:h100=4"})},
			plain + ",gres/gpu=4", plain + ",gres/gpu=4,gres/gpu:h100=4", true},
		"per node": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:h100:2", GRESAllocated: "gres/gpu=4,gres/gpu:h100=4"})},
			plain + ",gres/gpu=4", plain + ",gres/gpu=4,gres/gpu:h100=4", true},
		"per job, also per node": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerJob: "gres/gpu:3", TRESPerNode: "gres/gpu:2", GRESAllocated: "gres/gpu=3"})},
			plain + ",gres/gpu=3", plain + ",gres/gpu=3", true},
		"per task": {Job{TRESRequested: plain, TRESAllocated: plain, Tasks: Num(6),
			SharedDetails: ShareDetails(JobDetails{TRESPerTask: "gres/gpu=1", GRESAllocated: "gres/gpu=6"})}, plain + ",gres/gpu=6",
			plain + ",gres/gpu=6", true},
		"of a type without a count": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:2080ti", GRESAllocated: "gres/gpu=2"})}, plain + ",gres/gpu=2",
			plain + ",gres/gpu=2", true},
		"none, as asked for": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:0"})}, plain + ",gres/gpu=0", plain, true},
		"an unknown number of tasks": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerTask: "gres/gpu=1"})}, plain, plain, false},
		"per socket": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerSocket: "gres/gpu:1"})}, plain, plain, false},
		"a request that cannot be read": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:a:b"})}, plain, plain,
			false},
		"more than a number can hold": {Job{TRESRequested: plain, TRESAllocated: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:10000000000000000000"})},
			plain, plain, false},
		"slurmctld counts others": {Job{TRESRequested: plain + ",gres/shard=2", TRESAllocated: plain + ",gres/shard=2",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:1,gres/shard:1", GRESAllocated: "gres/gpu=2,gres/shard=2"})},
			plain + ",gres/shard=2,gres/gpu=2", plain + ",gres/shard=2,gres/gpu=2", true},
		"a resource whose name begins alike": {Job{TRESRequested: plain + ",gres/gpumem=2", TRESAllocated: plain + ",gres/gpumem=2",
			SharedDetails: ShareDetails(JobDetails{TRESPerJob: "gres/gpu:1", GRESAllocated: "gres/gpu=1"})}, plain + ",gres/gpumem=2,gres/gpu=1",
			plain + ",gres/gpumem=2,gres/gpu=1",
			true},
	} {
		requested, known := tc.job.RequestedTRES()
		if requested != tc.requested || known != tc.known {
			t.Errorf("%s: %q is requested, known: %v", name, requested, known)
		}
		allocated, known := tc.job.AllocatedTRES()
		if allocated != tc.allocated || known != tc.known {
			t.Errorf("%s: %q is allocated, known: %v", name, allocated, known)
		}
	}
}

// TestRepeatedGRESRequests has what slurmctld counts (docs/development/slurm.md, "Counts of generic resources").
func TestRepeatedGRESRequests(t *testing.T) {
	for text, want := range map[string]map[string]uint64{
		"gres/gpu:2,gres/gpu:1":                             {"gpu": 2},
		"gres/gpu:1,gres/gpu:3":                             {"gpu": 3},
		"gres/gpu:h100:1,gres/gpu:h100:2":                   {"gpu": 2, "gpu:h100": 2},
		"gres/gpu:h100:1,gres/gpu:2080ti:2,gres/gpu:h100:3": {"gpu": 5, "gpu:h100": 3, "gpu:2080ti": 2},
		"gres/gpu:2,license/x:1,cpu=4,gres/nic":             {"gpu": 2, "nic": 1},
	} {
		if got, err := ParseGRESRequest(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestRequestedGPUTypes: slurmctld's text has no types unless AccountingStorageTRES lists them (measured on 26.05).
func TestRequestedGPUTypes(t *testing.T) {
	const plain = "cpu=2,mem=200M,node=2,billing=2"
	for _, tc := range []struct {
		name    string
		job     Job
		want    map[string]uint64
		unknown bool
	}{
		{name: "none", job: Job{TRESRequested: plain}},
		{name: "any", job: Job{TRESRequested: plain + ",gres/gpu=4",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:2"})}, want: map[string]uint64{"": 4}},
		{name: "of a type", job: Job{TRESRequested: plain + ",gres/gpu=4",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:h100:2"})},
			want: map[string]uint64{"h100": 4}},
		{name: "of a type, which slurmctld counts", job: Job{TRESRequested: plain + ",gres/gpu=4,gres/gpu:h100=4",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:h100:2"})}, want: map[string]uint64{"h100": 4}},
		{name: "of a type, and slurmctld counts none", job: Job{TRESRequested: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:h100:2"})},
			want: map[string]uint64{"h100": 4}},
		{name: "of a type per socket", job: Job{TRESRequested: plain + ",gres/gpu=8",
			SharedDetails: ShareDetails(JobDetails{TRESPerSocket: "gres/gpu:h100:2"})},
			want: map[string]uint64{"h100": 8}},
		{name: "of two types", job: Job{TRESRequested: plain + ",gres/gpu=6",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:h100:2,gres/gpu:l40s:1"})},
			want: map[string]uint64{"h100": 4, "l40s": 2}},
		{name: "of two types, in another number", job: Job{TRESRequested: plain + ",gres/gpu=7",
			SharedDetails: ShareDetails(JobDetails{TRESPerNode: "gres/gpu:h100:2,gres/gpu:l40s:1"})}, want: map[string]uint64{"": 7}},
		{name: "for each task", job: Job{TRESRequested: plain + ",gres/gpu=3", Tasks: Num(3),
			SharedDetails: ShareDetails(JobDetails{TRESPerTask: "gres/gpu:h100:1"})},
			want: map[string]uint64{"h100": 3}},
		{name: "per socket, and slurmctld counts none", job: Job{TRESRequested: plain,
			SharedDetails: ShareDetails(JobDetails{TRESPerSocket: "gres/gpu:2"})}, unknown: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := tc.job.RequestedGPUTypes()
			if ok == tc.unknown || !maps.Equal(got, tc.want) {
				t.Errorf("%v (known: %t), want %v", got, ok, tc.want)
			}
		})
	}
}
