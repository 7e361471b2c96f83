package slurmctld

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
)

// Submit submits a job as sbatch does and returns its id. The job starts in the next Step at the
// earliest. Errors are *Refusal.
func (c *Cluster) Submit(s JobSpec) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, refused := c.submit(s)
	return id, refused.orNil()
}

// Refusal is an error of slurmctld.
type Refusal struct {
	// Number is Slurm's error number.
	Number int
}

// Error returns Slurm's text for the number.
func (r *Refusal) Error() string { return errno.Text(r.Number) }

// orNil returns the refusal as an error, and no error for nil.
func (r *Refusal) orNil() error {
	if r == nil {
		return nil
	}
	return r
}

// newRefusal returns nil for 0.
func newRefusal(number int) *Refusal {
	if number == 0 {
		return nil
	}
	return &Refusal{number}
}

func (c *Cluster) submit(s JobSpec) (uint32, *Refusal) {
	if len(s.Components) > 0 {
		return c.submitHet(s)
	}
	j, tasks, throttle, r := c.prepareJob(s)
	if r != nil {
		return 0, r
	}
	c.enqueueJob(j)
	if tasks != nil {
		c.makeArray(j, tasks, throttle)
	}
	return j.id, nil
}

// prepareJob checks a specification and creates its job, which is not in the table yet.
func (c *Cluster) prepareJob(s JobSpec) (j *job, tasks []uint32, throttle uint32, r *Refusal) {
	partitions, ok := c.partitionsOf(s.Partition)
	if !ok {
		return nil, nil, 0, newRefusal(2000)
	}
	if s.Array != "" {
		var err error
		if tasks, throttle, err = parseArray(s.Array, c.cfg.MaxArraySize); err != nil {
			return nil, nil, 0, newRefusal(2081)
		}
	}
	depends, ok := parseDependencies(s.Dependency)
	if !ok {
		return nil, nil, 0, newRefusal(2038)
	}
	if number := c.validateSpec(s); number != 0 {
		return nil, nil, 0, newRefusal(number)
	}
	j = c.newJob(s, partitions)
	j.dependencies = depends
	if !c.isSatisfiable(j) {
		return nil, nil, 0, newRefusal(2014)
	}
	return j, tasks, throttle, nil
}

// validateSpec returns the error number if the specification names something that does not exist,
// else 0.
func (c *Cluster) validateSpec(s JobSpec) int {
	for _, f := range featureNames(s.Constraints) {
		if !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.hasFeature(f) }) {
			return 2029
		}
	}
	names, err := hostlist.Expand(s.RequiredNodes)
	if err != nil || slices.ContainsFunc(names, func(n string) bool { return c.nodeByName[n] == nil }) {
		return 2018
	}
	for _, l := range parseLicenses(s.Licenses) {
		if have := c.license(l.name); have == nil || have.Total < l.count {
			return 2048
		}
	}
	switch {
	case s.Reservation != "" && c.reservation(s.Reservation) == nil:
		return 2053
	case s.QOS != "" && !slices.ContainsFunc(c.cfg.QOS, func(q QOSConf) bool { return q.Name == s.QOS }):
		return 2066
	case s.Account != "" && !c.cfg.NoAccounting && !slices.Contains(c.Accounts(), s.Account):
		return 2045
	}
	return 0
}

// isSatisfiable reports whether slurmctld accepts the job: 24.11 requires nodes that could run it,
// whatever their state; 26.05 lets it wait if the partition has too few nodes.
func (c *Cluster) isSatisfiable(j *job) bool {
	if c.cfg.Release != Release2411 {
		return c.mayWaitForNodes(j)
	}
	for _, partition := range j.requirements.partitions {
		if c.fitsIdlePartition(j, partition) {
			return true
		}
	}
	return false
}

func (c *Cluster) fitsIdlePartition(j *job, partition *partition) bool {
	var nodes []*node
	for _, n := range partition.nodes {
		if j.requirements.accepts(n) {
			nodes = append(nodes, n)
		}
	}
	return j.requirements.fit(nodes, asIfIdle) != nil
}

// mayWaitForNodes reports whether 26.05 accepts the job. It refuses a job only if every partition
// has enough nodes, but none of the requested shape.
func (c *Cluster) mayWaitForNodes(j *job) bool {
	for _, partition := range j.requirements.partitions {
		if len(partition.nodes) < int(j.requirements.minNodes()) || c.fitsIdlePartition(j, partition) {
			return true
		}
	}
	return false
}

// enqueueJob adds a new job to the table and to the queue.
func (c *Cluster) enqueueJob(j *job) {
	j.id = c.newID()
	r := c.edit(j)
	r.ID, r.SubmitTime = j.id, c.now
	if !r.Hold && j.beginTime <= c.now && len(j.dependencies) == 0 {
		r.EligibleTime, r.AccrueTime = c.now, c.now
	}
	c.appendJob(j)
	c.stats.Submitted++
	c.queue.add(j)
	c.needsScheduling = true
	if j.beginTime > c.now {
		c.events.add(j.beginTime, event{})
	}
	if len(j.dependencies) > 0 {
		r.flags |= flagDependent
		r.Flags = c.flagText(r.flags)
		c.dependents = append(c.dependents, j)
		c.resolveDependencies(j)
	}
}

// parseArray parses "0-7,9,10-20:2%4".
func parseArray(text string, size uint32) (tasks []uint32, throttle uint32, err error) {
	list, limit, throttled := strings.Cut(text, "%")
	if throttled {
		n, err := strconv.ParseUint(limit, 10, 32)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the limit of array %q: %w", text, err)
		}
		throttle = uint32(n)
	}
	for span := range strings.SplitSeq(list, ",") {
		from, to, step, err := parseSpan(span)
		if err != nil {
			return nil, 0, fmt.Errorf("reading array %q: %w", text, err)
		}
		if to >= size {
			return nil, 0, errors.New("the array is too large")
		}
		for i := from; i <= to; i += step {
			tasks = append(tasks, i)
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks), throttle, nil
}

func parseSpan(text string) (from, to, step uint32, err error) {
	span, stepText, stepped := strings.Cut(text, ":")
	fromText, toText, isRange := strings.Cut(span, "-")
	if !isRange {
		toText = fromText
	}
	if !stepped {
		stepText = "1"
	}
	var values [3]uint32
	for i, t := range []string{fromText, toText, stepText} {
		n, err := strconv.ParseUint(t, 10, 31)
		if err != nil {
			return 0, 0, 0, err
		}
		values[i] = uint32(n)
	}
	if values[1] < values[0] || values[2] == 0 {
		return 0, 0, 0, fmt.Errorf("bad range %q", text)
	}
	return values[0], values[1], values[2], nil
}

// submitHet submits a heterogeneous job; its components start together.
func (c *Cluster) submitHet(s JobSpec) (uint32, *Refusal) {
	first := s
	first.Components = nil
	var h hetJob
	for _, component := range append([]JobSpec{first}, s.Components...) {
		component.User = s.User
		j, tasks, _, r := c.prepareJob(component)
		if r == nil && tasks != nil {
			r = newRefusal(2081)
		}
		if r != nil {
			return 0, r
		}
		h.jobs = append(h.jobs, j)
	}
	var ids []string
	for _, j := range h.jobs {
		j.het = &h
		c.enqueueJob(j)
		ids = append(ids, strconv.FormatUint(uint64(j.id), 10))
	}
	text := hostlist.Compress(ids)
	for i, j := range h.jobs {
		r := c.edit(j)
		r.HetJobID, r.HetOffset, r.HetJobIDs = h.leader().id, uint32(i), strings.Trim(text, "[]")
		r.Batch = i == 0
	}
	return h.leader().id, nil
}
