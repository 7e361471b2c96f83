// Command docs generates the reference page of kubectl-slurm from its commands.
//
//	go run ./cmd/kubectl-slurm/internal/docs >docs/reference/cli.md
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/command"
)

func main() {
	if _, err := fmt.Print(renderPage(command.New(command.Streams{}, time.Now, ""))); err != nil {
		os.Exit(1)
	}
}
