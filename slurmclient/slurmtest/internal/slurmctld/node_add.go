package slurmctld

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// AddNodes adds nodes as a line of slurm.conf does. It skips names that exist, and does nothing if
// the hostlist is invalid.
func (c *Cluster) AddNodes(conf NodeConf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addNodes(conf)
}

func (c *Cluster) addNodes(conf NodeConf) {
	names, err := hostlist.Expand(conf.Names)
	if err != nil {
		return
	}
	for _, name := range names {
		if c.nodeByName[name] == nil {
			c.addNode(newNode(name, conf))
		}
	}
	c.refreshPartitions()
	c.needsScheduling = true
}

func newNode(name string, conf NodeConf) *node {
	n := &node{name: name, dynamic: conf.Dynamic, base: slurm.NodeIdle, memory: max(1, conf.MemoryMiB),
		features: conf.Features}
	n.setShape(conf)
	if n.dynamic {
		n.flags |= slurm.NodeDynamicNorm
	}
	switch conf.State {
	case "UNKNOWN":
		n.base, n.flags = slurm.NodeUnknown, n.flags|slurm.NodeNotResponding
	case "DOWN":
		n.base, n.flags = slurm.NodeDown, n.flags|slurm.NodeNotResponding
	case "FUTURE":
		n.base = slurm.NodeFuture
	case "CLOUD":
		n.flags |= slurm.NodeCloud | slurm.NodePoweredDown
	}
	r := n.Edit(0)
	*r = slurm.Node{Name: name, Address: name, Hostname: name, Port: cmp.Or(conf.Port, 6818), Boards: 1,
		Weight: cmp.Or(conf.Weight, 1), GRES: conf.GRES}
	return n
}

// setShape sets the sizes from the configuration, with Slurm's defaults.
func (n *node) setShape(conf NodeConf) {
	n.cores, n.threads = max(1, conf.CoresPerSocket), max(1, conf.ThreadsPerCore)
	n.CPUs = conf.CPUs
	if n.CPUs == 0 {
		n.CPUs = max(1, conf.Sockets) * n.cores * n.threads
	}
	n.sockets = conf.Sockets
	if n.sockets == 0 {
		n.sockets = max(1, n.CPUs/(n.cores*n.threads))
	}
	n.gpuType, n.gpus = parseGPUs(conf.GRES)
}

// addNode adds the node to the table and registers it if it is up.
func (c *Cluster) addNode(n *node) {
	n.index = len(c.nodes)
	c.nodes = append(c.nodes, n)
	c.nodeByName[n.name] = n
	c.writeNodeConfig(n)
	if n.base == slurm.NodeIdle && n.flags&slurm.NodePoweredDown == 0 {
		c.registerNode(n)
	}
}

// writeNodeConfig writes the configuration and the current state into the node's record.
func (c *Cluster) writeNodeConfig(n *node) {
	r := n.Edit(c.generation)
	r.Sockets, r.CoresPerSocket, r.ThreadsPerCore = n.sockets, n.cores, n.threads
	r.CPUs, r.EffectiveCPUs, r.MemoryMiB = n.CPUs, n.CPUs, n.memory
	r.Features, r.ActiveFeatures = n.features, n.features
	r.TRES = n.tres()
	r.Load, r.FreeMemoryMiB = slurm.Flt(0), slurm.Unset()
	c.updateNodeRecord(n)
}

// registerNode registers the node, as when its slurmd starts.
func (c *Cluster) registerNode(n *node) {
	n.base, n.slurmdStopped = slurm.NodeIdle, false
	n.flags &^= slurm.NodeNotResponding | slurm.NodePoweredDown
	for _, j := range n.jobs {
		c.finishConfiguring(j)
	}
	r := n.Edit(c.generation)
	r.Architecture, r.OS = "x86_64", "Linux 6.12.0 #1 SMP PREEMPT_DYNAMIC"
	r.Version = c.cfg.FullRelease()
	r.BootTime, r.SlurmdStartTime, r.LastBusy = c.now-1200, c.now, c.now
	r.Load, r.FreeMemoryMiB = slurm.Flt(0.25), slurm.Num(n.memory/2)
	c.updateNodeRecord(n)
	c.needsScheduling = true
}

// finishConfiguring ends the CONFIGURING state of a job once all its nodes are powered up.
func (c *Cluster) finishConfiguring(j *job) {
	for _, g := range j.allocations {
		if g.node.flags&slurm.NodePoweredDown != 0 {
			return
		}
	}
	if j.View().State.Flags&(slurm.JobConfiguring|slurm.JobPowerUpNode) != 0 {
		c.edit(j).State.Flags &^= slurm.JobConfiguring | slurm.JobPowerUpNode
	}
}

// parseGPUs parses "gpu:h100:4", "gpu:4" or "gres/gpu:h100:4".
func parseGPUs(text string) (kind string, count uint32) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "gres/")
		rest, ok := strings.CutPrefix(part, "gpu")
		if !ok {
			continue
		}
		words := strings.FieldsFunc(rest, func(r rune) bool { return r == ':' || r == '=' })
		n := uint64(1)
		for _, w := range words {
			if v, err := strconv.ParseUint(w, 10, 32); err == nil {
				n = v
			} else {
				kind = w
			}
		}
		count += uint32(n)
	}
	return kind, count
}
