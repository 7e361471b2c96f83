package simulation

import "strings"

// eventCounts counts what happened, by the names of rareEvents.
type eventCounts map[string]int

// rareEvent is an event that a line of a history's log reports.
type rareEvent struct{ name, begins, has string }

// rareEvents must all be in the histories that a test plays.
func rareEvents() []rareEvent {
	return []rareEvent{
		{"a worker is made", "create ", ""},
		{"a worker is deleted", "delete ", ""},
		{"a claim is deleted", "delete claim ", ""},
		{"a Slurm node is drained", "drain ", ""},
		{"a Slurm node is undrained", "undrain ", ""},
		{"a Slurm node is resumed", "resume ", ""},
		{"a record returns to FUTURE", "mark-future ", ""},
		{"a reason of ours is taken away", "clear-reason ", ""},
		{"a node that others hold is closed", "add-drain ", ""},
		{"slurmctld comes back with an older state", "slurmctld comes back", ""},
		{"slurmctld asks to reboot a worker", "reboot of ", ""},
		{"a rebooted worker is deleted", "delete ", "slurmctld asked to reboot"},
		{"Slurm drains a worker", "Slurm drains ", ""},
		{"Slurm's drain ends with the worker", "mark-future ", "that Slurm drained"},
		{"Slurm's drain ends when another worker takes the name", "resume ", "Slurm drained the worker before"},
		{"a worker is adopted", "adopt ", ""},
		{"a pod is lost and runs on", "lost and runs on", ""},
		{"a lost pod ends", "lost pod ends", ""},
		{"a job starts in a lost pod", "in a lost pod", ""},
		{"a worker did not register", "delete ", "it did not register with Slurm within"},
		{"a running worker did not register", "delete ",
			"its slurmd is running and did not register with Slurm within"},
		{"a choice above the budget is given back", "above the budget", ""},
		{"the operator is killed", "operator killed", ""},
		{"a reading lacks nodes", "odd reading: ", "nodes are missing"},
		{"a reading has all nodes silent", "odd reading: ", "all nodes are silent"},
		{"a NodeSet is deleted in the foreground", "in the foreground", ""},
		{"a NodeSet leaves orphans", "orphans are left", ""},
		{"a NodeSet of the same name comes", "a NodeSet of the same name", ""},
		{"the NodeSet joins another cluster", "the NodeSet joins b", ""},
		{"the nodes are ours and the jobs of another cluster", "nodes of a, jobs of b", ""},
		{"the jobs are ours and the nodes of another cluster", "nodes of b, jobs of a", ""},
		{"a job names a Slurm node", "a held job names", ""},
		{"a pending job requests nodes", "a pending job requests", ""},
		{"the maximum is not known", "the maximum is not known", ""},
		{"a record is deleted", "delete-record ", ""},
		{"the shape of the workers changes", "the shape is ", ""},
		{"a record is created again", "recreate-record ", "has changed"},
		{"a record that Slurm made invalid is created again", "recreate-record ", "Slurm refused"},
		{"a deletion without the creation that follows it", "killed before ", ""},
		{"slurmctld refuses the GRES of a record", "slurmctld refuses the GRES", ""},
		{"a record whose GRES slurmctld lost is created again", "recreate-record ", "slurmctld lost its GRES"},
		{"the names of workers change", "workers are called ", ""},
		{"what names a Slurm node cannot be read", "what names a Slurm node cannot be read: true", ""},
		{"slurmctld refuses new records", "slurmctld refuses new records", ""},
		{"a lost worker registers again", "the slurmd of ", "registers again"},
		{"the list of jobs is late during a scale-in", "replicas ", "the list of jobs is late"},
		{"a dynamic node has a comment of others", "a comment of others is on ", ""},
		{"a record without a pod keeps a drain of others", "clear-pod ", ""},
		{"another cluster answers a last look", "another Slurm cluster answers the look", ""},
	}
}

// addHistory counts the lines of a history.
func (t eventCounts) addHistory(w *simulation) {
	events := rareEvents()
	for _, line := range w.log {
		_, line, _ = strings.Cut(line, "s ")
		for _, e := range events {
			if strings.HasPrefix(line, e.begins) && strings.Contains(line, e.has) {
				t[e.name]++
			}
		}
	}
}
