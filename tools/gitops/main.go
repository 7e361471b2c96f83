// Command gitops compares objects with Flux's own types, and runs health checks of Argo CD. It is a separate module, since Flux's modules
// would raise versions of the main one.
//
//	gitops decode <objects.yaml   fails if an object of Flux has an unknown or duplicate field
//	gitops fields                 prints the fields of the specs of Flux, as JSON
//	gitops health <checks.json    runs each check of a list of {script, object} and prints one status a line
//
// The test of the chart slurm-flux also generates Flux's definitions with the tool of this module:
//
//	go tool controller-gen crd paths=github.com/fluxcd/helm-controller/api/v2 output:crd:dir=DIR
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	switch {
	case slices.Equal(args, []string{"decode"}):
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return decodeAll(string(text), out)
	case slices.Equal(args, []string{"fields"}):
		return json.NewEncoder(out).Encode(specFields())
	case slices.Equal(args, []string{"health"}):
		return checkAll(in, out)
	}
	return errors.New("usage: gitops decode|fields|health")
}
