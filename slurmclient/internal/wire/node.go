package wire

import (
	"io"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Nodes decodes the answer to GET /nodes/ or /node/{name} of any version.
func Nodes(r io.Reader, in *Interner, yield func(*slurm.Node) error) (Envelope, error) {
	return in.nodes.list(r, "nodes", yield, func() *records[slurm.Node] {
		return newRecords(nodeFields(), in, func(n *slurm.Node) bool { return n.Name != "" })
	})
}

func nodeFields() map[string]field[slurm.Node] {
	type node = slurm.Node
	return map[string]field[node]{
		"name":               word(func(n *node) *string { return &n.Name }),
		"address":            word(func(n *node) *string { return &n.Address }),
		"hostname":           word(func(n *node) *string { return &n.Hostname }),
		"port":               u32(func(n *node) *uint32 { return &n.Port }),
		"state":              read(func(_ *Interner, v []byte, n *node) { n.State = nodeState(v) }),
		"partitions":         read(func(in *Interner, v []byte, n *node) { n.Partitions = in.list(v) }),
		"features":           read(func(in *Interner, v []byte, n *node) { n.Features = in.list(v) }),
		"active_features":    read(func(in *Interner, v []byte, n *node) { n.ActiveFeatures = in.list(v) }),
		"boards":             u32(func(n *node) *uint32 { return &n.Boards }),
		"sockets":            u32(func(n *node) *uint32 { return &n.Sockets }),
		"cores":              u32(func(n *node) *uint32 { return &n.CoresPerSocket }),
		"threads":            u32(func(n *node) *uint32 { return &n.ThreadsPerCore }),
		"cpus":               u32(func(n *node) *uint32 { return &n.CPUs }),
		"effective_cpus":     u32(func(n *node) *uint32 { return &n.EffectiveCPUs }),
		"alloc_cpus":         u32(func(n *node) *uint32 { return &n.AllocCPUs }),
		"alloc_idle_cpus":    u32(func(n *node) *uint32 { return &n.IdleCPUs }),
		"cpu_load":           read(func(_ *Interner, v []byte, n *node) { n.Load = load(v) }),
		"real_memory":        u64(func(n *node) *uint64 { return &n.MemoryMiB }),
		"alloc_memory":       u64(func(n *node) *uint64 { return &n.AllocMemoryMiB }),
		"specialized_memory": u64(func(n *node) *uint64 { return &n.SpecializedMemoryMiB }),
		"free_mem":           num(func(n *node) *slurm.Number { return &n.FreeMemoryMiB }),
		"temporary_disk":     u64(func(n *node) *uint64 { return &n.TmpDiskMiB }),
		"weight":             u32(func(n *node) *uint32 { return &n.Weight }),
		"gres":               word(func(n *node) *string { return &n.GRES }),
		"gres_used":          word(func(n *node) *string { return &n.GRESUsed }),
		"tres":               word(func(n *node) *string { return &n.TRES }),
		"tres_used":          word(func(n *node) *string { return &n.TRESUsed }),
		"reason":             word(func(n *node) *string { return &n.Reason }),
		"reason_set_by_user": word(func(n *node) *string { return &n.ReasonBy }),
		"reason_changed_at":  at(func(n *node) *slurm.Time { return &n.ReasonAt }),
		"boot_time":          at(func(n *node) *slurm.Time { return &n.BootTime }),
		"slurmd_start_time":  at(func(n *node) *slurm.Time { return &n.SlurmdStartTime }),
		"last_busy":          at(func(n *node) *slurm.Time { return &n.LastBusy }),
		"resume_after":       at(func(n *node) *slurm.Time { return &n.ResumeAfter }),
		"reservation":        word(func(n *node) *string { return &n.Reservation }),
		"owner":              word(func(n *node) *string { return &n.Owner }),
		"comment":            word(func(n *node) *string { return &n.Comment }),
		"extra":              word(func(n *node) *string { return &n.Extra }),
		"instance_id":        once(func(n *node) *string { return &n.InstanceID }),
		"instance_type":      word(func(n *node) *string { return &n.InstanceType }),
		"architecture":       word(func(n *node) *string { return &n.Architecture }),
		"operating_system":   word(func(n *node) *string { return &n.OS }),
		"version":            word(func(n *node) *string { return &n.Version }),
		"topology":           word(func(n *node) *string { return &n.Topology }),
	}
}

func nodeState(v []byte) slurm.NodeState {
	var names [12]string
	list := names[:0]
	words(v, func(w []byte) { list = append(list, string(w)) })
	return slurm.ParseNodeState(list...)
}

// parseLoad parses cpu_load, which is in hundredths. NO_VAL means that slurmd has not reported a load.
func load(v []byte) slurm.Float {
	n, ok := number(v).Value()
	switch {
	case !ok:
		return slurm.Float{}
	case n >= 0xfffffffe:
		return slurm.UnsetFloat()
	}
	return slurm.Flt(float64(n) / 100)
}
