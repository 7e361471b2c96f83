package slurmtest

// hetJob is a heterogeneous job: components that start together.
type hetJob struct{ jobs []*job }

func (h *hetJob) leader() *job { return h.jobs[0] }
