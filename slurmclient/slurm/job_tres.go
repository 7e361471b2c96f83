package slurm

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// AllocatedTRES returns TRESAllocated with the generic resources of GRESAllocated that slurmctld's text lacks, because
// AccountingStorageTRES does not list them (slurm.conf(5)). hasGPUs is false if the job requests GPUs and it is not known how many
// it has.
func (j *Job) AllocatedTRES() (text string, hasGPUs bool) {
	text = j.TRESAllocated
	for item := range strings.SplitSeq(j.GRESAllocated(), ",") {
		if item != "" && !listsGRES(j.TRESAllocated, baseOfGRES(item)) {
			text = joinTRES(text, item)
		}
	}
	if !j.requestsGPUs() || listsGRES(text, "gres/gpu") {
		return text, true
	}
	gpus, ok := j.countRequestedGPUs()
	return text, ok && gpus == 0 // such as --gres=gpu:0
}

// RequestedTRES returns TRESRequested. If slurmctld's text lacks the number of GPUs, it adds the number that follows from the job's other
// requests. hasGPUs is false if the number does not follow, as for GPUs per socket.
func (j *Job) RequestedTRES() (text string, hasGPUs bool) {
	if !j.requestsGPUs() || listsGRES(j.TRESRequested, "gres/gpu") {
		return j.TRESRequested, true
	}
	gpus, ok := j.countRequestedGPUs()
	if !ok {
		return j.TRESRequested, false
	}
	return joinTRES(j.TRESRequested, fmt.Sprintf("gres/gpu=%d", gpus)), true
}

// requestsGPUs reports whether the job requests GPUs in any way.
func (j *Job) requestsGPUs() bool {
	return slices.ContainsFunc([]string{j.TRESPerJob(), j.TRESPerNode(), j.TRESPerTask(), j.TRESPerSocket()},
		func(text string) bool { return strings.Contains(text, "gpu") })
}

// countRequestedGPUs returns the GPUs of the job as slurmctld counts them in its text. If the text lacks the GPUs of the whole job, they
// follow from its smallest number of nodes or from its tasks.
func (j *Job) countRequestedGPUs() (uint64, bool) {
	counts, times, ok := j.gpuRequest()
	hi, gpus := bits.Mul64(TRES{GRES: counts}.GPUs(), times)
	return gpus, ok && hi == 0 && times > 0
}

// gpuRequest returns the generic resources of the request for GPUs that counts, and how often the job has them.
func (j *Job) gpuRequest() (counts map[string]uint64, times uint64, ok bool) {
	t, err := ParseTRES(j.TRESRequested)
	if err != nil {
		return nil, 0, false
	}
	nodes, tasks := t.Nodes, j.Tasks.Or(0)
	if nodes == 0 {
		nodes = j.NodeCount.Or(0)
	}
	for _, request := range []struct {
		text  string
		times uint64
	}{{j.TRESPerJob(), 1}, {j.TRESPerNode(), nodes}, {j.TRESPerTask(), tasks}, {j.TRESPerSocket(), 0}} {
		if strings.Contains(request.text, "gpu") {
			counts, err = ParseGRESRequest(request.text)
			return counts, request.times, err == nil
		}
	}
	return nil, 0, false
}

// RequestedGPUTypes divides the GPUs that the job requests by their types. GPUs of any type have the empty type. If slurmctld's text has
// another number than the job's requests of several types, all GPUs have the empty type. ok is false if the number is unknown.
func (j *Job) RequestedGPUTypes() (byType map[string]uint64, ok bool) {
	text, ok := j.RequestedTRES()
	if !ok || !strings.Contains(text, "gpu") {
		return nil, ok
	}
	t, err := ParseTRES(text)
	if err != nil {
		return nil, false
	}
	total := t.GPUs()
	if byType = typesOfGPUs(t.GRES, total); len(byType) != 1 || byType[""] == 0 {
		return byType, true // slurmctld counts types
	}
	counts, times, ok := j.gpuRequest()
	if !ok {
		return byType, true
	}
	requested := TRES{GRES: counts}.GPUs()
	types := typesOfGPUs(counts, requested)
	if len(types) == 1 {
		for kind := range types {
			return map[string]uint64{kind: total}, true
		}
	}
	if hi, all := bits.Mul64(requested, times); hi != 0 || all != total {
		return byType, true
	}
	for kind := range types {
		types[kind] *= times
	}
	return types, true
}

// typesOfGPUs divides a number of GPUs by type. GPUs without a type are under "".
func typesOfGPUs(gres map[string]uint64, total uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, n := range gres {
		if kind, typed := strings.CutPrefix(name, "gpu:"); typed && n > 0 {
			out[kind] = n
			total -= min(total, n)
		}
	}
	if total > 0 {
		out[""] = total
	}
	return out
}

// ParseGRESRequest parses the generic resources of a job's request, such as "gres/gpu:h100:2,gres/shard=1,license/x:1". It returns each
// under its name and under its name with type. If several items have the same name and type, the largest counts, as in slurmctld:
// "gpu:2,gpu:3" are 3 (measured, docs/development/slurm.md, "Counts of generic resources"). It ignores other resources. If it cannot read
// an item, it returns the rest and an error.
func ParseGRESRequest(text string) (map[string]uint64, error) {
	var largest map[string]uint64
	var bad error
	for item := range strings.SplitSeq(text, ",") {
		rest, isGRES := strings.CutPrefix(item, "gres")
		if !isGRES || rest == "" || rest[0] != '/' && rest[0] != ':' {
			continue
		}
		name, count, err := parseGRESItem(strings.ReplaceAll(rest[1:], "=", ":"))
		if err != nil {
			bad = fmt.Errorf("reading GRES %q: %w", text, err)
		} else if name != "" {
			setCount(&largest, name, max(largest[name], count))
		}
	}
	var out map[string]uint64
	for name, count := range largest {
		addWithBase(&out, name, count)
	}
	return out, bad
}

// FormatGRES returns generic resources as text of TRES, such as "gres/gpu=4,gres/gpu:h100=4".
func FormatGRES(counts map[string]uint64) string {
	var out string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = joinTRES(out, fmt.Sprintf("gres/%s=%d", name, counts[name]))
	}
	return out
}

// listsGRES reports whether a TRES text counts a generic resource, of any type.
func listsGRES(text, name string) bool {
	for item := range strings.SplitSeq(text, ",") {
		if baseOfGRES(item) == name {
			return true
		}
	}
	return false
}

// baseOfGRES returns the name of an item of TRES without its type and count.
func baseOfGRES(item string) string {
	name, _, _ := strings.Cut(item, "=")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func joinTRES(text, item string) string {
	if text == "" {
		return item
	}
	return text + "," + item
}
