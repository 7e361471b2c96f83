package nodeset

import "github.com/slurmtide/slurmtide/test/realkube"

// Missing says why these tests cannot run here, empty when they can.
func Missing() string { return realkube.MissingNode() }
