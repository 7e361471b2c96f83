package nodeset

import "github.com/slurmtide/slurmtide/test/harness/realkube"

// Missing returns why these tests cannot run here, empty if they can.
func Missing() string { return realkube.MissingNodeRequirement() }
