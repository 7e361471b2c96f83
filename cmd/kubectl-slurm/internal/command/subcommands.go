package command

import (
	"fmt"
	"slices"
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
		if near := similarCommands(cmd, args[0]); len(near) > 0 {
			return fmt.Errorf("unknown command %s %s; did you mean %s?", cmd.CommandPath(), args[0], strings.Join(near, " or "))
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

// maxTypos is how many letters a misspelt command may differ by.
const maxTypos = 2

// similarCommands returns the subcommands that a word may stand for: those that list it in SuggestFor, such as jobs for
// queue, or else those with a similar name.
func similarCommands(cmd *cobra.Command, word string) []string {
	var meant []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && slices.ContainsFunc(c.SuggestFor, func(s string) bool { return strings.EqualFold(s, word) }) {
			meant = append(meant, c.Name())
		}
	}
	if len(meant) > 0 {
		return meant
	}
	cmd.SuggestionsMinimumDistance = maxTypos
	return cmd.SuggestionsFor(word)
}

// addHelpHint adds to a flag error where to find help.
func addHelpHint(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
