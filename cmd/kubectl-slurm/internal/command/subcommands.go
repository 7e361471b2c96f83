package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// requireSubcommand configures a command that only has subcommands. Without an argument it prints
// its help. An unknown subcommand is an error that lists the known ones.
func requireSubcommand(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		return fmt.Errorf("unknown command %s %s; the commands are %s", cmd.CommandPath(), args[0],
			strings.Join(names, ", "))
	}
}

// addHelpHint adds to a flag error where to find help.
func addHelpHint(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
