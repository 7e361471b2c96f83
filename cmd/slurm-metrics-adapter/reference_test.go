package main

import (
	"testing"

	"github.com/slurmtide/slurmtide/cmd/internal/flagpage/pagetest"
)

var update = pagetest.Update()

func TestTheReferenceIsCurrent(t *testing.T) {
	app, _ := application()
	pagetest.Current(t, app, update)
}
