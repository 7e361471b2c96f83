package slurmrestd

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// nodeFields returns the fields of a node record by path.
func nodeFields() template.Fields[*slurm.Node] {
	type n = *slurm.Node
	return template.Fields[*slurm.Node]{
		"architecture":      template.Text(func(n n) string { return n.Architecture }),
		"boards":            template.Count(func(n n) uint64 { return uint64(n.Boards) }),
		"boot_time":         template.Time(func(n n) slurm.Time { return n.BootTime }),
		"cores":             template.Count(func(n n) uint64 { return uint64(n.CoresPerSocket) }),
		"cpu_load":          template.Int(cpuLoadOf),
		"free_mem":          template.Number(func(n n) slurm.Number { return n.FreeMemoryMiB }),
		"cpus":              template.Count(func(n n) uint64 { return uint64(n.CPUs) }),
		"effective_cpus":    template.Count(func(n n) uint64 { return uint64(n.EffectiveCPUs) }),
		"extra":             template.Text(func(n n) string { return n.Extra }),
		"features":          template.Texts(func(n n) []string { return n.Features }),
		"active_features":   template.Texts(func(n n) []string { return n.ActiveFeatures }),
		"gres":              template.Text(func(n n) string { return n.GRES }),
		"gres_used":         template.Text(func(n n) string { return n.GRESUsed }),
		"instance_id":       template.Text(func(n n) string { return n.InstanceID }),
		"instance_type":     template.Text(func(n n) string { return n.InstanceType }),
		"last_busy":         template.Time(func(n n) slurm.Time { return n.LastBusy }),
		"name":              template.Text(func(n n) string { return n.Name }),
		"address":           template.Text(func(n n) string { return n.Address }),
		"hostname":          template.Text(func(n n) string { return n.Hostname }),
		"state":             template.Texts(func(n n) []string { return n.State.Names() }),
		"operating_system":  template.Text(func(n n) string { return n.OS }),
		"owner":             template.Text(func(n n) string { return n.Owner }),
		"partitions":        template.Texts(func(n n) []string { return n.Partitions }),
		"port":              template.Count(func(n n) uint64 { return uint64(n.Port) }),
		"real_memory":       template.Count(func(n n) uint64 { return n.MemoryMiB }),
		"comment":           template.Text(func(n n) string { return n.Comment }),
		"reason":            template.Text(func(n n) string { return n.Reason }),
		"reason_changed_at": template.Time(func(n n) slurm.Time { return n.ReasonAt }),
		"reason_set_by_user": template.Text(func(n n) string {
			return n.ReasonBy
		}),
		"resume_after":      template.Time(func(n n) slurm.Time { return n.ResumeAfter }),
		"reservation":       template.Text(func(n n) string { return n.Reservation }),
		"alloc_memory":      template.Count(func(n n) uint64 { return n.AllocMemoryMiB }),
		"alloc_cpus":        template.Count(func(n n) uint64 { return uint64(n.AllocCPUs) }),
		"alloc_idle_cpus":   template.Count(func(n n) uint64 { return uint64(n.IdleCPUs) }),
		"tres_used":         template.Text(func(n n) string { return n.TRESUsed }),
		"tres_weighted":     template.Float(func(n n) slurm.Float { return slurm.Flt(float64(n.AllocCPUs)) }),
		"slurmd_start_time": template.Time(func(n n) slurm.Time { return n.SlurmdStartTime }),
		"sockets":           template.Count(func(n n) uint64 { return uint64(n.Sockets) }),
		"threads":           template.Count(func(n n) uint64 { return uint64(n.ThreadsPerCore) }),
		"weight":            template.Count(func(n n) uint64 { return uint64(n.Weight) }),
		"topology":          template.Text(func(n n) string { return n.Topology }),
		"tres":              template.Text(func(n n) string { return n.TRES }),
		"version":           template.Text(func(n n) string { return n.Version }),
	}
}

// cpuLoadOf returns the load average in hundredths.
func cpuLoadOf(n *slurm.Node) int64 {
	v, _ := n.Load.Value()
	return int64(v * 100)
}
