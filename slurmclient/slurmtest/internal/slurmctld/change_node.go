package slurmctld

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
)

// UpdateNode sets a node's state to one of Slurm's words (DRAIN, UNDRAIN, RESUME, DOWN, FUTURE, …)
// with a reason, as root. Errors are *Refusal.
func (c *Cluster) UpdateNode(name, state, reason string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodeByName[name]
	if n == nil {
		return newRefusal(2018)
	}
	return c.setNodeState(n, state, reason, "root").orNil()
}

// NodeUpdate is a change of nodes; nil and absent members change nothing.
type NodeUpdate struct {
	States                    []string
	Reason, Comment, Topology *string
	Features                  []string
	Weight                    slurm.Number
}

// UpdateNodesAs changes the nodes of a hostlist as a user, whom it treats as an administrator. It returns nil on
// success.
func (c *Cluster) UpdateNodesAs(user, list string, u NodeUpdate) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes, r := c.nodesOf(list)
	for _, n := range nodes {
		if r == nil {
			r = c.changeNode(n, u, user)
		}
	}
	return r
}

// nodesOf returns the nodes of a hostlist. It is an error if one does not exist.
func (c *Cluster) nodesOf(list string) ([]*node, *Refusal) {
	names, err := hostlist.Expand(list)
	if err != nil || len(names) == 0 {
		return nil, newRefusal(2018)
	}
	nodes := make([]*node, len(names))
	for i, name := range names {
		if nodes[i] = c.nodeByName[name]; nodes[i] == nil {
			return nil, newRefusal(2018)
		}
	}
	return nodes, nil
}

// changeNode applies an update to one node.
func (c *Cluster) changeNode(n *node, u NodeUpdate, by string) *Refusal {
	reason := ""
	if u.Reason != nil {
		reason = *u.Reason
	}
	for _, s := range u.States {
		if r := c.setNodeState(n, s, reason, by); r != nil {
			return r
		}
	}
	c.editNode(n, u)
	if u.Reason != nil && len(u.States) == 0 {
		c.setNodeReason(n, reason, by)
	}
	return nil
}

// editNode changes the fields that are not part of the state.
func (c *Cluster) editNode(n *node, u NodeUpdate) {
	r := n.Edit(c.generation)
	if u.Comment != nil {
		r.Comment = *u.Comment
	}
	if v, ok := u.Weight.Value(); ok {
		r.Weight = uint32(v)
	}
	if u.Features != nil {
		n.features = u.Features
		r.Features, r.ActiveFeatures = u.Features, u.Features
		c.refreshPartitions()
		c.needsScheduling = true
	}
	if u.Topology != nil {
		r.Topology = *u.Topology
	}
	c.updateNodeRecord(n)
}

// SetNodeLoad sets the load and the free memory that a node reports.
func (c *Cluster) SetNodeLoad(name string, load float64, freeMemoryMiB uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodeByName[name]; n != nil {
		r := n.Edit(c.generation)
		r.Load, r.FreeMemoryMiB = slurm.Flt(load), slurm.Num(freeMemoryMiB)
		c.changedAt.Nodes = c.now
	}
}

// setNodeState changes the state as "scontrol update nodename=… state=…" does.
func (c *Cluster) setNodeState(n *node, state, reason, by string) *Refusal {
	if n.base == slurm.NodeFuture && state != "FUTURE" {
		return newRefusal(2028)
	}
	switch state {
	case "DRAIN":
		n.flags |= slurm.NodeDrain
		c.setNodeReason(n, reason, by)
	case "UNDRAIN":
		n.flags &^= slurm.NodeDrain
		c.setNodeReason(n, "", "")
		c.awaitPing(n)
	case "RESUME", "IDLE":
		if n.base == slurm.NodeUnknown {
			return newRefusal(2028)
		}
		n.flags &^= slurm.NodeDrain | slurm.NodeFail | slurm.NodeInvalid | slurm.NodeInvalidReg
		if n.base == slurm.NodeDown {
			n.base = slurm.NodeIdle
		}
		c.setNodeReason(n, "", "")
		c.awaitPing(n)
	case "DOWN":
		n.base = slurm.NodeDown
		c.setNodeReason(n, reason, by)
		c.failJobs(n)
	case "FAIL":
		n.flags |= slurm.NodeFail | slurm.NodeDrain
		c.setNodeReason(n, reason, by)
	case "FUTURE":
		return c.markFuture(n)
	default:
		return newRefusal(errno.InvalidFlag)
	}
	c.updateNodeRecord(n)
	c.needsScheduling = true
	return nil
}

func (c *Cluster) setNodeReason(n *node, reason, by string) {
	r := n.Edit(c.generation)
	r.Reason, r.ReasonBy, r.ReasonAt = reason, by, c.now
	if reason == "" && by == "" {
		r.ReasonAt = 0
	}
}

// awaitPing makes the node respond only after slurmctld has pinged it; a node without a slurmd
// never responds.
func (c *Cluster) awaitPing(n *node) {
	if n.flags&slurm.NodePoweredDown != 0 {
		return
	}
	n.flags |= slurm.NodeNotResponding
	if n.slurmdStopped {
		return
	}
	n.pingAt = c.now + slurm.Time(c.cfg.PingDelay.Seconds())
	c.events.add(n.pingAt, event{node: n})
}

// failJobs ends or requeues the jobs of a node that went down.
func (c *Cluster) failJobs(n *node) {
	for _, j := range slices.Clone(n.jobs) {
		if j.state().Finished() {
			continue
		}
		c.edit(j).FailedNode = n.name
		if j.View().Requeue {
			c.returnToQueue(j, "BeginTime")
			continue
		}
		c.endJob(j, slurm.JobNodeFail, "NodeDown", ExitCode{Signal: 1})
	}
}

// markFuture sets a dynamic node back to FUTURE.
func (c *Cluster) markFuture(n *node) *Refusal {
	switch {
	case !n.dynamic:
		return newRefusal(2028)
	case len(n.jobs) > 0:
		return newRefusal(2016)
	}
	n.base, n.flags, n.pingAt = slurm.NodeFuture, slurm.NodeDynamicNorm, 0
	r := n.Edit(c.generation)
	r.Version, r.Architecture, r.OS, r.Reason, r.ReasonBy, r.ReasonAt = "", "", "", "", "", 0
	c.updateNodeRecord(n)
	c.needsScheduling = true
	return nil
}

// DeleteNode removes dynamic nodes without jobs; name may be a hostlist. Errors are *Refusal.
func (c *Cluster) DeleteNode(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deleteNodes(name).orNil()
}

func (c *Cluster) deleteNodes(list string) *Refusal {
	names, err := hostlist.Expand(list)
	if err != nil || len(names) == 0 {
		return newRefusal(2018)
	}
	for _, name := range names {
		n := c.nodeByName[name]
		switch {
		case n == nil:
			return newRefusal(2018)
		case len(n.jobs) > 0:
			return newRefusal(2016)
		case !n.dynamic && n.flags&slurm.NodeCloud == 0:
			return newRefusal(2028)
		}
	}
	for _, name := range names {
		delete(c.nodeByName, name)
	}
	c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return c.nodeByName[n.name] != n })
	for i, n := range c.nodes {
		n.index = i
	}
	for _, r := range c.reservations {
		r.nodes = slices.DeleteFunc(r.nodes, func(n *node) bool { return c.nodeByName[n.name] != n })
	}
	c.changedAt.Nodes = c.now
	c.refreshPartitions()
	return nil
}

// StartSlurmd starts the slurmd of dynamic nodes (slurmd -Z): each takes over the record of its
// name or gets a new one. If slurmd reports less GRES than the record has, the node becomes INVALID
// and drained. StartSlurmd does nothing if the hostlist is invalid.
func (c *Cluster) StartSlurmd(conf NodeConf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, err := hostlist.Expand(conf.Names)
	if err != nil {
		return
	}
	conf.State, conf.Dynamic = "", true
	moved := false
	for _, name := range names {
		n := c.nodeByName[name]
		if n == nil {
			c.addNode(newNode(name, conf))
			moved = true
			continue
		}
		before := *n
		c.takeOverRecord(n, conf)
		moved = moved || n.CPUs != before.CPUs || n.memory != before.memory || n.gpus != before.gpus ||
			!slices.Equal(n.features, before.features)
	}
	if moved {
		c.refreshPartitions()
	}
	c.needsScheduling = true
}

func (c *Cluster) takeOverRecord(n *node, conf NodeConf) {
	future := n.base == slurm.NodeFuture
	kind, count := parseGPUs(conf.GRES)
	missing := n.gpus > 0 && (count < n.gpus || kind != n.gpuType)
	if future && !missing {
		n.setShape(conf)
		n.memory = max(1, conf.MemoryMiB)
		if len(conf.Features) > 0 {
			n.features = conf.Features
		}
		n.Edit(c.generation).GRES = conf.GRES
	}
	if future {
		c.setNodeReason(n, "", "")
		n.flags &^= slurm.NodeDrain
	}
	c.writeNodeConfig(n)
	c.registerNode(n)
	if missing {
		n.flags |= slurm.NodeInvalidReg | slurm.NodeDrain
		c.setNodeReason(n, "gres/gpu count reported lower than configured", "slurm")
		c.updateNodeRecord(n)
	}
}

// StopSlurmd stops the slurmd of the nodes in a hostlist. They do not respond until StartSlurmd.
// slurmctld would set them DOWN after SlurmdTimeout; the simulator leaves that to UpdateNode.
func (c *Cluster) StopSlurmd(list string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, _ := hostlist.Expand(list)
	for _, name := range names {
		if n := c.nodeByName[name]; n != nil {
			n.flags |= slurm.NodeNotResponding
			n.pingAt, n.slurmdStopped = 0, true
			c.updateNodeRecord(n)
		}
	}
}

// CreateNodes creates records from a line such as "NodeName=cpu-[0-9] CPUs=4 State=FUTURE"; the
// state must be FUTURE or CLOUD. Errors are *Refusal.
func (c *Cluster) CreateNodes(line string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.createNodes(line).orNil()
}

func (c *Cluster) createNodes(line string) *Refusal {
	conf, ok := parseNodeLine(line)
	names, err := hostlist.Expand(conf.Names)
	if !ok || err != nil || len(names) == 0 {
		return newRefusal(2018)
	}
	if conf.State != "FUTURE" && conf.State != "CLOUD" {
		return newRefusal(2028)
	}
	if at := slices.IndexFunc(names, func(n string) bool { return c.nodeByName[n] != nil }); at >= 0 {
		if c.cfg.Release == Release2411 {
			_ = c.deleteNodes(names[at]) // 24.11 cleans up a record that it did not create
		}
		return newRefusal(2018)
	}
	c.addNodes(conf)
	return nil
}

// parseNodeLine parses a NodeName= line of slurm.conf.
func parseNodeLine(line string) (NodeConf, bool) {
	conf := NodeConf{Dynamic: true}
	for word := range strings.FieldsSeq(line) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return conf, false
		}
		n, _ := strconv.ParseUint(value, 10, 32)
		switch strings.ToLower(key) {
		case "nodename":
			conf.Names = value
		case "cpus", "procs":
			conf.CPUs = uint32(n)
		case "sockets":
			conf.Sockets = uint32(n)
		case "corespersocket":
			conf.CoresPerSocket = uint32(n)
		case "threadspercore":
			conf.ThreadsPerCore = uint32(n)
		case "realmemory":
			conf.MemoryMiB = n
		case "gres":
			conf.GRES = value
		case "feature", "features":
			conf.Features = strings.Split(value, ",")
		case "weight":
			conf.Weight = uint32(n)
		case "port":
			conf.Port = uint32(n)
		case "state":
			conf.State = strings.ToUpper(value)
		}
	}
	return conf, conf.Names != ""
}
