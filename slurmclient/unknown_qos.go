package slurmclient

import "github.com/slurmtide/slurmtide/slurmclient/slurm"

// unknownQOS remembers in which unknown QOS jobs wait. It is not safe for concurrent use.
type unknownQOS struct{ names map[string]bool }

// observe reports whether a QOS was created since the last call: jobs wait in it, and the list does not contain it. A deleted QOS, which
// slurmdbd never lists again, is reported once.
func (u *unknownQOS) observe(jobs []*slurm.Job, list []slurm.QOS) (created bool) {
	known := make(map[string]bool, len(list))
	for _, q := range list {
		known[q.Name] = true
	}
	unknown, last := map[string]bool{}, ""
	for _, j := range jobs {
		name := j.QOS()
		if name == last || j.State.Base != slurm.JobPending { // jobs of one QOS are often neighbours
			continue
		}
		last = name
		if name == "" || known[name] {
			continue
		}
		unknown[name] = true
		created = created || !u.names[name]
	}
	u.names = unknown
	return created
}
