package slurmctld

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/format"
)

// JobSpec describes a job to submit.
type JobSpec struct {
	slurm.JobRequest
	// User is the user who submits the job; "root" if empty.
	User string
	// RunFor is how long the job runs. If zero, the "sleep N" lines of the script decide, or
	// "duration=N" in the comment; without either the job ends at once.
	RunFor time.Duration
	// Forever makes the job run until its time limit, or until something else ends it.
	Forever bool
	// ExitCode is the exit code of the script; if zero, "exit N" in the script decides.
	ExitCode uint32
	Nice     int32
	Priority uint32 // 0 lets Slurm choose
	// ExcludedNodes is a hostlist (sbatch --exclude).
	ExcludedNodes string
	NoRequeue     bool
	// Components make it a heterogeneous job that consists of this job and of these.
	Components []JobSpec
}

// newJob creates a job from the specification without adding it to the cluster.
func (c *Cluster) newJob(s JobSpec, partitions []*partition) *job {
	j := &job{requirements: c.requirementsOf(s, partitions), beginTime: s.BeginTime}
	j.runFor, j.result = runTimeAndResult(s)
	r := j.Record.Edit(c.generation)
	*r = c.newRecord(s, &j.requirements)
	r.Batch, r.Comment = true, s.Comment
	r.Directory, r.SubmitLine = cmp.Or(s.WorkingDirectory, "/"), "sbatch "+s.Name
	u := c.users[r.UserName]
	r.GroupID, r.AssociationID = u.UID, c.AssociationID(r.UserName)
	r.flags = specFlags(s)
	r.Flags = c.flagText(r.flags)
	if s.Hold {
		r.Hold, r.Priority, r.Reason = true, slurm.Num(0), "JobHeldUser"
	}
	return j
}

// newRecord returns the part of a record that stays the same until the job starts.
func (c *Cluster) newRecord(s JobSpec, req *requirements) JobRecord {
	user := cmp.Or(s.User, "root")
	u, known := c.users[user]
	if !known {
		u = UserConf{Name: "nobody", UID: 99}
	}
	j := JobRecord{
		JobOwner: slurm.JobOwner{UserName: u.Name, UserID: u.UID, GroupName: u.Name,
			Account: cmp.Or(s.Account, u.Account), QOS: cmp.Or(s.QOS, "normal")},
		JobDetails: newDetails(s, req),
		Job: slurm.Job{
			Name: cmp.Or(s.Name, "openapi"), Partition: s.Partition,
			State: slurm.JobState{Base: slurm.JobPending}, Reason: "None",
			Priority: slurm.Num(uint64(cmp.Or(s.Priority, c.priorityOf(s)))), Nice: s.Nice, ArrayTaskID: slurm.Unset(),
			TimeLimit: req.minutes, NodeCount: slurm.Num(uint64(req.minNodes())),
			CPUs: slurm.Num(uint64(req.CPUs)), Tasks: slurm.Num(uint64(max(1, s.Tasks, req.nodes))),
			Dependency: s.Dependency, TRESRequested: req.tres(),
		},
	}
	if s.Partition == "" && len(req.partitions) > 0 {
		j.Partition = req.partitions[0].name()
	}
	j.MemoryPerCPU, j.MemoryPerNode = slurm.Unset(), slurm.Unset()
	if req.memoryPerNode > 0 {
		j.MemoryPerNode = slurm.Num(req.memoryPerNode)
	} else {
		j.MemoryPerCPU = slurm.Num(req.memoryPerCPU)
	}
	return j
}

func newDetails(s JobSpec, req *requirements) slurm.JobDetails {
	d := slurm.JobDetails{
		Requeue: !s.NoRequeue, RequiredNodes: s.RequiredNodes, ExcludedNodes: s.ExcludedNodes, Features: s.Constraints,
		MaxNodes:     slurm.Num(uint64(req.minNodes())),
		CPUsPerTask:  slurm.Num(uint64(max(1, s.CPUsPerTask))),
		TasksPerNode: slurm.Num(0), MinCPUsPerNode: slurm.Num(uint64(max(1, s.CPUsPerTask))),
		MinTmpDiskMiB: slurm.Num(0), ThreadsPerCore: slurm.Unset(),
		TRESPerJob: s.TRESPerJob, TRESPerNode: s.TRESPerNode, Licenses: s.Licenses, Reservation: s.Reservation,
	}
	if s.Exclusive {
		d.Shared = "none"
	}
	return d
}

func (c *Cluster) priorityOf(s JobSpec) uint32 {
	for _, q := range c.cfg.QOS {
		if q.Name == s.QOS {
			return 1 + q.Priority
		}
	}
	return 1
}

func (c *Cluster) requirementsOf(s JobSpec, partitions []*partition) requirements {
	req := requirements{partitions: partitions, nodes: s.Nodes, exclusive: s.Exclusive, features: s.Constraints,
		memoryPerNode: s.MemoryPerNode.Or(0), licenses: parseLicenses(s.Licenses), minutes: s.TimeLimit}
	req.CPUs = max(1, s.Tasks, s.Nodes) * max(1, s.CPUsPerTask)
	req.gpuType, req.gpusPerNode = parseGPUs(s.TRESPerNode)
	if kind, n := parseGPUs(s.TRESPerJob); n > 0 {
		req.gpuType, req.gpus = kind, n
	}
	req.required, _ = hostlist.Expand(s.RequiredNodes)
	req.excluded, _ = hostlist.Expand(s.ExcludedNodes)
	if req.memoryPerNode == 0 {
		req.memoryPerCPU = s.MemoryPerCPU.Or(c.cfg.DefMemPerCPU)
	}
	if _, ok := req.minutes.Value(); !ok {
		req.minutes = slurm.Infinite()
		if len(partitions) > 0 {
			v := partitions[0].View()
			if req.minutes = v.MaxTime; v.DefaultTime.Or(0) > 0 {
				req.minutes = v.DefaultTime
			}
		}
	}
	req.shape = formatShape(s, &req)
	return req
}

// tres returns the requested TRES.
func (req *requirements) tres() string {
	n := uint64(req.minNodes())
	memory := req.memoryPerNode * n
	if memory == 0 {
		memory = req.memoryPerCPU * uint64(req.CPUs)
	}
	return format.TRES{CPUs: uint64(req.CPUs), Memory: memory, Nodes: n, Billing: uint64(req.CPUs),
		GPUs: uint64(max(req.gpus, req.gpusPerNode*uint32(n)))}.String()
}

func specFlags(s JobSpec) jobFlags {
	f := flagExactTasks | flagDefaultWCKey
	if s.MemoryPerNode.Or(0) > 0 || s.MemoryPerCPU.Or(0) > 0 {
		f |= flagExactMemory
	}
	if s.Account == "" {
		f |= flagDefaultAccount
	}
	if s.Partition == "" {
		f |= flagDefaultPartition | flagPartitionAssigned
	}
	if s.QOS == "" {
		f |= flagDefaultQOS
	}
	if s.Nodes == 0 {
		f |= flagImplicitNodes
	}
	return f
}

// runTimeAndResult returns how long a job runs and how it ends.
func runTimeAndResult(s JobSpec) (slurm.Time, result) {
	res := result{exit: ExitCode{Code: s.ExitCode}, forever: s.Forever}
	if n, ok := lastNumber(`(?m)\bexit +(\d+)`, s.Script); ok && s.ExitCode == 0 {
		res.exit.Code = uint32(n)
	}
	if s.RunFor > 0 {
		return max(1, slurm.Time(s.RunFor.Seconds())), res
	}
	if n, ok := sumNumbers(`(?m)\bsleep +(\d+)`, s.Script); ok {
		return n, res
	}
	n, _ := lastNumber(`\bduration=(\d+)`, s.Comment)
	return n, res
}

func findNumbers(pattern, text string) (out []slurm.Time) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil {
			out = append(out, slurm.Time(n))
		}
	}
	return out
}

func sumNumbers(pattern, text string) (total slurm.Time, ok bool) {
	list := findNumbers(pattern, text)
	for _, n := range list {
		total += n
	}
	return total, len(list) > 0
}

func lastNumber(pattern, text string) (slurm.Time, bool) {
	list := findNumbers(pattern, text)
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1], true
}

// formatShape returns a key that two jobs share only if the same nodes fit both.
func formatShape(s JobSpec, req *requirements) string {
	return fmt.Sprint(s.Partition, "/", req.nodes, "/", req.CPUs, "/", req.memoryPerNode, "/", req.memoryPerCPU, "/",
		req.gpuType, req.gpusPerNode, "/", req.gpus, "/", req.features, "/", s.RequiredNodes, "/", s.ExcludedNodes, "/",
		req.exclusive, "/", s.Reservation)
}
