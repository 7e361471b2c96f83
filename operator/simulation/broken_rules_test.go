package simulation

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/configagent"
)

// breakage breaks rules of the operator by what it reads and writes.
type breakage struct {
	// read changes what the operator reads.
	read func(*simulation, client.Object)
	// write changes what the operator writes, or reports that it is left out.
	write func(*simulation, *write) bool
	// agent changes what agents say.
	agent func(*simulation, configagent.Status, error) (configagent.Status, error)
	// ignoreNamespaces has the operator run daemons everywhere.
	ignoreNamespaces bool
}
