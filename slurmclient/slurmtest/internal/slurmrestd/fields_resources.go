package slurmrestd

import (
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// writeResources returns the function that writes job_resources, whose shape changed in v0.0.41.
func writeResources(version string) func(*template.Writer, *slurmctld.JobRecord) {
	if version == "v0.0.40" {
		return writeOldResources
	}
	kind := "CORE"
	if version >= "v0.0.45" {
		kind = "CR_CORE_MEMORY"
	}
	return func(w *template.Writer, r *slurmctld.JobRecord) { writeNewResources(w, r, kind) }
}

func writeOldResources(w *template.Writer, r *slurmctld.JobRecord) {
	w.Object()
	if len(r.Allocations) > 0 {
		writeMember(w, "nodes", func() { w.String(r.Nodes) })
		writeMember(w, "allocated_cores", func() { w.Uint(uint64(countAllocatedCores(r))) })
		writeMember(w, "allocated_cpus", func() { w.Uint(0) })
		writeMember(w, "allocated_hosts", func() { w.Uint(uint64(len(r.Allocations))) })
		writeMember(w, "allocated_nodes", func() {
			w.Array()
			for _, g := range r.Allocations {
				w.Item()
				writeOldAllocation(w, g)
			}
			w.EndArray()
		})
	}
	w.EndObject()
}

func countAllocatedCores(r *slurmctld.JobRecord) (n int) {
	for _, g := range r.Allocations {
		n += g.Cores.Count()
	}
	return n
}

func writeOldAllocation(w *template.Writer, g *slurmctld.NodeAllocation) {
	w.Object()
	w.Key("sockets")
	w.Object()
	for s := range g.Sockets {
		if !usesSocket(g, s) {
			continue
		}
		w.Key(strconv.Itoa(int(s)))
		w.Object()
		w.Key("cores")
		w.Object()
		for c := range g.CoresPerSocket {
			if g.Cores.Has(s*g.CoresPerSocket + c) {
				writeMember(w, strconv.Itoa(int(c)), func() { w.String("allocated") })
			}
		}
		w.EndObject()
		w.EndObject()
	}
	w.EndObject()
	writeMember(w, "nodename", func() { w.String(g.Name) })
	writeMember(w, "cpus_used", func() { w.Uint(0) })
	writeMember(w, "memory_used", func() { w.Uint(0) })
	writeMember(w, "memory_allocated", func() { w.Uint(g.Memory) })
	w.EndObject()
}

func usesSocket(g *slurmctld.NodeAllocation, socket uint32) bool {
	for c := range g.CoresPerSocket {
		if g.Cores.Has(socket*g.CoresPerSocket + c) {
			return true
		}
	}
	return false
}

func writeNewResources(w *template.Writer, r *slurmctld.JobRecord, kind string) {
	if len(r.Allocations) == 0 {
		w.Null()
		return
	}
	w.Object()
	writeMember(w, "select_type", func() { w.Strings(kind) })
	writeMember(w, "nodes", func() {
		w.Object()
		writeMember(w, "count", func() { w.Uint(uint64(len(r.Allocations))) })
		writeMember(w, "select_type", func() { w.Strings("ONE_ROW") })
		writeMember(w, "list", func() { w.String(r.Nodes) })
		writeMember(w, "whole", func() { w.Bool(r.Shared == "none") })
		writeMember(w, "allocation", func() {
			w.Array()
			for i, g := range r.Allocations {
				w.Item()
				writeNewAllocation(w, i, g)
			}
			w.EndArray()
		})
		w.EndObject()
	})
	writeMember(w, "cpus", func() { w.Uint(r.CPUs.Or(0)) })
	writeMember(w, "threads_per_core", func() { w.Number(slurm.Unset()) })
	w.EndObject()
}

func writeNewAllocation(w *template.Writer, index int, g *slurmctld.NodeAllocation) {
	w.Object()
	writeMember(w, "index", func() { w.Uint(uint64(index)) })
	writeMember(w, "name", func() { w.String(g.Name) })
	w.Key("cpus")
	w.Object()
	writeMember(w, "count", func() { w.Uint(uint64(g.CPUs)) })
	writeMember(w, "used", func() { w.Uint(0) })
	w.EndObject()
	w.Key("memory")
	w.Object()
	writeMember(w, "used", func() { w.Uint(0) })
	writeMember(w, "allocated", func() { w.Uint(g.Memory) })
	w.EndObject()
	w.Key("sockets")
	w.Array()
	for s := range g.Sockets {
		w.Item()
		writeSocket(w, s, g)
	}
	w.EndArray()
	w.EndObject()
}

func writeSocket(w *template.Writer, socket uint32, g *slurmctld.NodeAllocation) {
	w.Object()
	writeMember(w, "index", func() { w.Uint(uint64(socket)) })
	w.Key("cores")
	w.Array()
	for c := range g.CoresPerSocket {
		w.Item()
		w.Object()
		writeMember(w, "index", func() { w.Uint(uint64(c)) })
		status := "UNALLOCATED"
		if g.Cores.Has(socket*g.CoresPerSocket + c) {
			status = "ALLOCATED"
		}
		writeMember(w, "status", func() { w.Strings(status) })
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

// writeMember writes a member of an object.
func writeMember(w *template.Writer, key string, value func()) {
	w.Key(key)
	value()
}
