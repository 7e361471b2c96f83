package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/doctor"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// doctor is the command "doctor".
func (s *session) doctor() *cobra.Command {
	var output string
	var ignore []string
	var all bool
	var warn time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Finds the usual faults, and names a cure for each",
		Long: `Finds the usual faults of Slurm on Kubernetes, and names a cure for each.

The exit status is 0 when nothing was found, 1 when something was, and 2 when it
could not be looked. It changes nothing. The faults that it knows:

  ` + strings.Join(codes(), "\n  "),
		Example: "  kubectl slurm doctor --all-namespaces\n  kubectl slurm doctor --namespace=hpc --output=json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := table.ParseFormat(output)
			if err != nil || format == table.Wide || format == table.Names {
				return fmt.Errorf("-o takes json or yaml, not %q", output)
			}
			unwanted, err := parseCodes(ignore)
			if err != nil {
				return err
			}
			where := top.OneNamespace
			if all {
				where = top.ManyNamespaces
			}
			seen, err := s.lookAround(cmd.Context(), where)
			if err != nil {
				return err
			}
			seen.Warn = warn
			return s.tell(doctor.Examine(*seen, unwanted), format)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "", "Output format: json or yaml")
	flags.StringSliceVar(&ignore, "ignore", nil, "Faults that are no faults here")
	flags.BoolVarP(&all, "all-namespaces", "A", false, "Look at all namespaces")
	flags.DurationVar(&warn, "token-warning", 24*time.Hour, "Time before its end from which on a token is told of")
	complete(cmd, "output", string(table.JSON), string(table.YAML))
	complete(cmd, "ignore", codes()...)
	return cmd
}

// lookAround reads what the doctor looks at, of one namespace or all.
func (s *session) lookAround(ctx context.Context, placed top.Placed) (*doctor.Observed, error) {
	api, err := s.api()
	if err != nil {
		return nil, err
	}
	namespace := ""
	if placed == top.OneNamespace {
		if namespace, err = s.namespace(); err != nil {
			return nil, err
		}
	}
	return observeAll(ctx, api, s.now(), namespace)
}

func (s *session) tell(report doctor.Report, format table.Format) error {
	var err error
	if format == table.Plain {
		err = report.Write(s.streams.Out)
	} else {
		err = table.PrintObject(s.streams.Out, format, report)
	}
	if err == nil && len(report.Findings) > 0 {
		err = &FoundError{Count: len(report.Findings)}
	}
	return err
}

func codes() []string {
	var out []string
	for _, c := range doctor.Codes() {
		out = append(out, string(c))
	}
	return out
}

func parseCodes(words []string) ([]doctor.Code, error) {
	var out []doctor.Code
	for _, word := range words {
		known := false
		for _, c := range doctor.Codes() {
			if strings.EqualFold(string(c), word) {
				out, known = append(out, c), true
			}
		}
		if !known {
			return nil, fmt.Errorf("--ignore takes the names of faults, and %q is none", word)
		}
	}
	return out, nil
}
