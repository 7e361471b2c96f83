package main

import (
	"testing"

	"github.com/slurmtide/slurmtide/cmd/internal/flagpage/pagetest"
)

var update = pagetest.UpdateFlag()

func TestTheReferenceIsCurrent(t *testing.T) {
	program, _ := newProgram()
	pagetest.CheckCurrent(t, program, update)
}
