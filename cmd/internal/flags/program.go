// Package flags declares and reads the flags of the daemons. The flags stand in groups, in the order
// of their declaration. A switch --x is turned off by --no-x. A flag may be given once unless it is
// a list, and the environment may set it.
package flags

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/common/version"
	"github.com/spf13/pflag"
)

// ErrPrinted is the result of --help and --version: the program has nothing else to do.
var ErrPrinted = errors.New("help or version is printed")

// Program is the command line of a daemon: flags, and no arguments.
type Program struct {
	// Name is the name of the executable.
	Name string
	// Description is the text of --help above the flags. Indented lines are examples.
	Description string

	groups []group
}

// group is a set of flags with a title in --help.
type group struct {
	title string
	flags *pflag.FlagSet
}

// New returns a program with the flags --help and --version.
func New(name, description string) *Program {
	p := &Program{Name: name, Description: description}
	set := p.Group("Program")
	set.BoolP(helpFlag, "h", false, "Show this help.")
	set.Bool(versionFlag, false, "Show the version.")
	return p
}

const (
	helpFlag    = "help"
	versionFlag = "version"
)

// Group returns the flags of the group with the title, and adds the group if it is missing.
func (p *Program) Group(title string) *pflag.FlagSet {
	for _, g := range p.groups {
		if g.title == title {
			return g.flags
		}
	}
	set := newFlagSet()
	p.groups = append(p.groups, group{title, set})
	return set
}

// VisitAll calls visit for each flag in the order of declaration.
func (p *Program) VisitAll(visit func(*pflag.Flag)) {
	for _, g := range p.groups {
		g.flags.VisitAll(visit)
	}
}

// Parse reads the arguments and then, for flags that they do not set, the environment. --help and
// --version print to out, and the result is ErrPrinted.
func (p *Program) Parse(args []string, out io.Writer) error {
	set := newFlagSet()
	p.VisitAll(set.AddFlag)
	AddNegations(set)
	err := set.ParseAll(args, func(f *pflag.Flag, value string) error {
		switch {
		case f.Name == helpFlag:
			return errors.Join(ErrPrinted, p.printHelp(out))
		case f.Name == versionFlag:
			_, err := fmt.Fprintln(out, version.Print(p.Name))
			return errors.Join(ErrPrinted, err)
		}
		return setOnce(set, f, value)
	})
	switch {
	case err != nil:
		return err
	case set.NArg() > 0:
		return fmt.Errorf("unexpected %s", set.Arg(0))
	}
	return setFromEnvironment(set)
}

// setOnce sets a flag. A flag that is not a list may be given once, as --x or as --no-x.
func setOnce(set *pflag.FlagSet, f *pflag.Flag, value string) error {
	given := f
	if n, ok := f.Value.(*negation); ok {
		given = n.negated
	}
	if given.Changed && !IsList(given) {
		return fmt.Errorf("flag --%s cannot be repeated", given.Name)
	}
	return set.Set(f.Name, value)
}

// ReportError prints the error and returns the exit status: 2, or 0 for ErrPrinted.
func ReportError(w io.Writer, program string, err error) int {
	if errors.Is(err, ErrPrinted) {
		return 0
	}
	_, _ = fmt.Fprintf(w, "%[1]s: %[2]v\n%[1]s: --help lists the flags\n", program, err)
	return 2
}

func newFlagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	set.SetOutput(io.Discard)
	return set
}

// environmentKey is the annotation of a flag with the variable that sets it.
const environmentKey = "environment"

// BindEnvironment lets the variable set the flag. The flag on the command line takes precedence, and
// an empty variable counts as unset.
func BindEnvironment(set *pflag.FlagSet, name, variable string) {
	f := set.Lookup(name)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[environmentKey] = []string{variable}
}

// VariableOf returns the variable that sets the flag, or "" if no variable does.
func VariableOf(f *pflag.Flag) string {
	for _, variable := range f.Annotations[environmentKey] {
		return variable
	}
	return ""
}

func setFromEnvironment(set *pflag.FlagSet) error {
	var errs []error
	set.VisitAll(func(f *pflag.Flag) {
		variable := VariableOf(f)
		if variable == "" || f.Changed {
			return
		}
		if value := os.Getenv(variable); value != "" {
			if err := set.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable, err))
			}
		}
	})
	return errors.Join(errs...)
}
