package slurmtest

import (
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// writeResources returns the function that writes job_resources, whose shape changed in v0.0.41.
func writeResources(version string) func(*template.Writer, *jobRecord) {
	if version == "v0.0.40" {
		return writeOldResources
	}
	kind := "CORE"
	if version >= "v0.0.45" {
		kind = "CR_CORE_MEMORY"
	}
	return func(w *template.Writer, r *jobRecord) { writeNewResources(w, r, kind) }
}

func writeOldResources(w *template.Writer, r *jobRecord) {
	w.Object()
	if len(r.held) > 0 {
		member(w, "nodes", func() { w.String(r.Nodes) })
		member(w, "allocated_cores", func() { w.Uint(uint64(coresHeld(r))) })
		member(w, "allocated_cpus", func() { w.Uint(0) })
		member(w, "allocated_hosts", func() { w.Uint(uint64(len(r.held))) })
		member(w, "allocated_nodes", func() {
			w.Array()
			for _, g := range r.held {
				w.Item()
				writeOldGrant(w, g)
			}
			w.EndArray()
		})
	}
	w.EndObject()
}

func coresHeld(r *jobRecord) (n int) {
	for _, g := range r.held {
		n += g.cores.count()
	}
	return n
}

func writeOldGrant(w *template.Writer, g *grant) {
	w.Object()
	w.Key("sockets")
	w.Object()
	for s := range g.sockets {
		if !g.uses(s) {
			continue
		}
		w.Key(strconv.Itoa(int(s)))
		w.Object()
		w.Key("cores")
		w.Object()
		for c := range g.wide {
			if g.cores.has(s*g.wide + c) {
				member(w, strconv.Itoa(int(c)), func() { w.String("allocated") })
			}
		}
		w.EndObject()
		w.EndObject()
	}
	w.EndObject()
	member(w, "nodename", func() { w.String(g.name) })
	member(w, "cpus_used", func() { w.Uint(0) })
	member(w, "memory_used", func() { w.Uint(0) })
	member(w, "memory_allocated", func() { w.Uint(g.memory) })
	w.EndObject()
}

func (g *grant) uses(socket uint32) bool {
	for c := range g.wide {
		if g.cores.has(socket*g.wide + c) {
			return true
		}
	}
	return false
}

func writeNewResources(w *template.Writer, r *jobRecord, kind string) {
	if len(r.held) == 0 {
		w.Null()
		return
	}
	w.Object()
	member(w, "select_type", func() { w.Strings(kind) })
	member(w, "nodes", func() {
		w.Object()
		member(w, "count", func() { w.Uint(uint64(len(r.held))) })
		member(w, "select_type", func() { w.Strings("ONE_ROW") })
		member(w, "list", func() { w.String(r.Nodes) })
		member(w, "whole", func() { w.Bool(r.Shared == "none") })
		member(w, "allocation", func() {
			w.Array()
			for i, g := range r.held {
				w.Item()
				writeNewGrant(w, i, g)
			}
			w.EndArray()
		})
		w.EndObject()
	})
	member(w, "cpus", func() { w.Uint(r.CPUs.Or(0)) })
	member(w, "threads_per_core", func() { w.Number(slurm.Unset()) })
	w.EndObject()
}

func writeNewGrant(w *template.Writer, index int, g *grant) {
	w.Object()
	member(w, "index", func() { w.Uint(uint64(index)) })
	member(w, "name", func() { w.String(g.name) })
	w.Key("cpus")
	w.Object()
	member(w, "count", func() { w.Uint(uint64(g.cpus)) })
	member(w, "used", func() { w.Uint(0) })
	w.EndObject()
	w.Key("memory")
	w.Object()
	member(w, "used", func() { w.Uint(0) })
	member(w, "allocated", func() { w.Uint(g.memory) })
	w.EndObject()
	w.Key("sockets")
	w.Array()
	for s := range g.sockets {
		w.Item()
		writeSocket(w, s, g)
	}
	w.EndArray()
	w.EndObject()
}

func writeSocket(w *template.Writer, socket uint32, g *grant) {
	w.Object()
	member(w, "index", func() { w.Uint(uint64(socket)) })
	w.Key("cores")
	w.Array()
	for c := range g.wide {
		w.Item()
		w.Object()
		member(w, "index", func() { w.Uint(uint64(c)) })
		status := "UNALLOCATED"
		if g.cores.has(socket*g.wide + c) {
			status = "ALLOCATED"
		}
		member(w, "status", func() { w.Strings(status) })
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

// member writes a member of an object.
func member(w *template.Writer, key string, value func()) {
	w.Key(key)
	value()
}
