package wire

import (
	"bytes"
	"io"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// DecodeNodes decodes the answer to GET /nodes/ or /node/{name} of any version.
func DecodeNodes(r io.Reader, in *Interner, yield func(*slurm.Node) error) (Envelope, error) {
	return in.nodes.decodeList(r, "nodes", yield, func() *recordDecoder[slurm.Node] {
		return newRecords(nodeFields(), in, func(n *slurm.Node) bool { return n.Name != "" })
	})
}

func nodeFields() map[string]field[slurm.Node] {
	type node = slurm.Node
	return map[string]field[node]{
		"name":               textField(func(n *node) *string { return &n.Name }),
		"address":            textField(func(n *node) *string { return &n.Address }),
		"hostname":           textField(func(n *node) *string { return &n.Hostname }),
		"port":               uint32Field(func(n *node) *uint32 { return &n.Port }),
		"state":              anyField(func(_ *Interner, v []byte, n *node) { n.State = parseNodeState(v) }),
		"partitions":         anyField(func(in *Interner, v []byte, n *node) { n.Partitions = in.list(v) }),
		"features":           anyField(func(in *Interner, v []byte, n *node) { n.Features = in.list(v) }),
		"active_features":    anyField(func(in *Interner, v []byte, n *node) { n.ActiveFeatures = in.list(v) }),
		"boards":             uint32Field(func(n *node) *uint32 { return &n.Boards }),
		"sockets":            uint32Field(func(n *node) *uint32 { return &n.Sockets }),
		"cores":              uint32Field(func(n *node) *uint32 { return &n.CoresPerSocket }),
		"threads":            uint32Field(func(n *node) *uint32 { return &n.ThreadsPerCore }),
		"cpus":               uint32Field(func(n *node) *uint32 { return &n.CPUs }),
		"effective_cpus":     uint32Field(func(n *node) *uint32 { return &n.EffectiveCPUs }),
		"alloc_cpus":         uint32Field(func(n *node) *uint32 { return &n.AllocCPUs }),
		"alloc_idle_cpus":    uint32Field(func(n *node) *uint32 { return &n.IdleCPUs }),
		"cpu_load":           anyField(func(_ *Interner, v []byte, n *node) { n.Load = parseLoad(v) }),
		"real_memory":        uint64Field(func(n *node) *uint64 { return &n.MemoryMiB }),
		"alloc_memory":       uint64Field(func(n *node) *uint64 { return &n.AllocMemoryMiB }),
		"specialized_memory": uint64Field(func(n *node) *uint64 { return &n.SpecializedMemoryMiB }),
		"free_mem":           numberField(func(n *node) *slurm.Number { return &n.FreeMemoryMiB }),
		"temporary_disk":     uint64Field(func(n *node) *uint64 { return &n.TmpDiskMiB }),
		"weight":             uint32Field(func(n *node) *uint32 { return &n.Weight }),
		"gres":               textField(func(n *node) *string { return &n.GRES }),
		"gres_used":          textField(func(n *node) *string { return &n.GRESUsed }),
		"tres":               textField(func(n *node) *string { return &n.TRES }),
		"tres_used":          textField(func(n *node) *string { return &n.TRESUsed }),
		"reason":             textField(func(n *node) *string { return &n.Reason }),
		"reason_set_by_user": textField(func(n *node) *string { return &n.ReasonBy }),
		"reason_changed_at":  timeField(func(n *node) *slurm.Time { return &n.ReasonAt }),
		"boot_time":          timeField(func(n *node) *slurm.Time { return &n.BootTime }),
		"slurmd_start_time":  timeField(func(n *node) *slurm.Time { return &n.SlurmdStartTime }),
		"last_busy":          timeField(func(n *node) *slurm.Time { return &n.LastBusy }),
		"resume_after":       timeField(func(n *node) *slurm.Time { return &n.ResumeAfter }),
		"next_state_after_reboot": anyField(func(_ *Interner, v []byte, n *node) {
			n.NextState = parseNextState(v)
		}),
		"reservation":      textField(func(n *node) *string { return &n.Reservation }),
		"owner":            textField(func(n *node) *string { return &n.Owner }),
		"comment":          textField(func(n *node) *string { return &n.Comment }),
		"extra":            textField(func(n *node) *string { return &n.Extra }),
		"instance_id":      rareTextField(func(n *node) *string { return &n.InstanceID }),
		"instance_type":    textField(func(n *node) *string { return &n.InstanceType }),
		"architecture":     textField(func(n *node) *string { return &n.Architecture }),
		"operating_system": textField(func(n *node) *string { return &n.OS }),
		"version":          textField(func(n *node) *string { return &n.Version }),
		"topology":         textField(func(n *node) *string { return &n.Topology }),
	}
}

// parseNextState reads next_state_after_reboot, such as ["DOWN", "UNDRAIN"], or ["INVALID"] for none.
func parseNextState(v []byte) slurm.NextState {
	switch {
	case bytes.Contains(v, []byte(`"DOWN"`)):
		return slurm.NextStateDown
	case bytes.Contains(v, []byte(`"RESUME"`)):
		return slurm.NextStateResume
	}
	return slurm.NextStateUnset
}

func parseNodeState(v []byte) slurm.NodeState {
	var names [12]string
	list := names[:0]
	eachWord(v, func(w []byte) { list = append(list, string(w)) })
	return slurm.ParseNodeState(list...)
}

// parseLoad parses cpu_load, which is in hundredths. NO_VAL means that slurmd has not reported a load.
func parseLoad(v []byte) slurm.Float {
	n, ok := parseNumber(v).Value()
	switch {
	case !ok:
		return slurm.Float{}
	case n >= 0xfffffffe:
		return slurm.UnsetFloat()
	}
	return slurm.Flt(float64(n) / 100)
}
