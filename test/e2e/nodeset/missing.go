package nodeset

import "github.com/slurmtide/slurmtide/test/harness/realkube"

// Missing returns the reason why these tests cannot run here, or "" if they can.
func Missing() string { return realkube.MissingNodeRequirement() }
