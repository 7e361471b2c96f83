package simulation

import "fmt"

// renameWorkers changes the names of future workers, as spec.ordinalPadding does. Workers keep theirs until they are replaced.
func (w *simulation) renameWorkers() {
	format := "n-%02d"
	if w.desired.SlurmName(0) == "n-00" {
		format = "n-%d"
	}
	w.readPods()
	w.desired.SlurmName = func(i int) string { return fmt.Sprintf(format, i) }
	w.desired.Revision += "n"
	w.logf("workers are called %s and so on", w.desired.SlurmName(0))
}
