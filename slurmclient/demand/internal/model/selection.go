package model

import (
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ReadSelection reads how slurmctld allocates resources of nodes (slurm.conf(5),
// SelectTypeParameters). Jobs get whole cores except with CR_CPU and CR_CPU_Memory.
func (d *Selection) ReadSelection(s *slurmclient.Snapshot) {
	allots, certain := allotsMemory(s)
	d.FillsNodes = fillsNodes(s)
	d.GuessesNodes = !d.FillsNodes
	d.WholeCores, d.TakesMemory, d.WholeMemory = !hasSelectParameter(s, "CPU"), allots, allots && certain
}

func fillsNodes(s *slurmclient.Snapshot) bool {
	return s.Server.Release == "" || s.Server.Release > "25"
}

// allotsMemory reports whether slurmctld allocates memory (CR_…_Memory), and whether this is known. If the
// configuration is unknown, running jobs show it: they have memory only if slurmctld allocates it.
func allotsMemory(s *slurmclient.Snapshot) (allots, certain bool) {
	if isSelectionKnown(s) {
		return hasSelectParameter(s, "MEMORY"), true
	}
	for _, j := range s.Jobs.Value {
		if j.State.Base != slurm.JobRunning || j.TRESAllocated == "" {
			continue
		}
		if strings.Contains(j.TRESAllocated, "mem=") {
			return true, true
		}
		if j.MemoryPerNode.Or(0) > 0 || j.MemoryPerCPU.Or(0) > 0 {
			return false, true
		}
	}
	return true, false
}

func isSelectionKnown(s *slurmclient.Snapshot) bool {
	return s.Conf.Known && s.Conf.Value != nil && len(s.Conf.Value.SelectTypeParameters) > 0
}

// hasSelectParameter reports whether one of the parameters, such as CR_CORE_MEMORY, contains the
// word.
func hasSelectParameter(s *slurmclient.Snapshot, word string) bool {
	if !isSelectionKnown(s) {
		return false
	}
	for _, p := range s.Conf.Value.SelectTypeParameters {
		for w := range strings.SplitSeq(strings.ToUpper(p), "_") {
			if w == word {
				return true
			}
		}
	}
	return false
}
