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

// doctorCommand returns the command "doctor".
func (s *session) doctorCommand() *cobra.Command {
	var output string
	var ignore []string
	var all bool
	var warn time.Duration
	cmd := &cobra.Command{
		SuggestFor: []string{"check", "diagnose", "sdiag", "ping"},
		Use:        "doctor",
		Short:      "Finds common faults and suggests a cure for each",
		Long: `Finds common faults of Slurm on Kubernetes and suggests a cure for each.

The exit status is 0 when no fault was found, 1 when a fault was found, and 2 when the
cluster could not be read. The doctor changes nothing. It finds these faults:

  ` + strings.Join(codeNames(), "\n  "),
		Example: "  kubectl slurm doctor --all-namespaces\n  kubectl slurm doctor --namespace=hpc --output=json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := table.ParseObjectFormat(output)
			if err != nil {
				return err
			}
			unwanted, err := parseCodes(ignore)
			if err != nil {
				return err
			}
			where := top.OneNamespace
			if all {
				where = top.ManyNamespaces
			}
			observed, err := s.observeNamespaces(cmd.Context(), where)
			if err != nil {
				return err
			}
			observed.TokenWarning = warn
			return s.printReport(doctor.Examine(*observed, unwanted), format)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "", table.Usage(table.ObjectFormats()))
	flags.StringSliceVar(&ignore, "ignore", nil, "Faults to ignore")
	flags.BoolVarP(&all, "all-namespaces", "A", false, "Check all namespaces")
	flags.DurationVar(&warn, "token-warning", 24*time.Hour, "Report tokens that expire within this time")
	registerCompletion(cmd, "output", table.ObjectFormats()...)
	registerCompletion(cmd, "ignore", codeNames()...)
	return cmd
}

// observeNamespaces reads what the doctor checks, in one namespace or in all.
func (s *session) observeNamespaces(ctx context.Context, placed top.NamespaceColumn) (*doctor.Observed, error) {
	api, err := s.connect()
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

func (s *session) printReport(report doctor.Report, format table.Format) error {
	var err error
	if format == table.Plain {
		err = report.Write(s.streams.Out)
	} else {
		err = table.PrintObject(s.streams.Out, format, report)
	}
	if err == nil && len(report.Findings) > 0 {
		err = &FindingsError{Count: len(report.Findings)}
	}
	return err
}

func codeNames() []string {
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
			return nil, fmt.Errorf("--ignore takes names of faults: %q is unknown", word)
		}
	}
	return out, nil
}
