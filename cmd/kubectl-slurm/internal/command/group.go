package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// group makes a command of one that only has others below it: alone it prints its help,
// and a word that is none of them is refused with the list of them.
func group(cmd *cobra.Command) {
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
		return fmt.Errorf("there is no %s %s; there are %s", cmd.CommandPath(), args[0], strings.Join(names, ", "))
	}
}

// flagError adds to what is wrong with a flag where to read about flags.
func flagError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
