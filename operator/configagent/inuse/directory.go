package inuse

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Directory looks up users and groups through NSS, as slurmctld does. A source of NSS that does not answer finds nothing.
type Directory struct {
	// Getent and ID are the programs getent(1) and id(1).
	Getent, ID string
}

// lookup is a program that finds names, with its exit status for a name that it does not find.
type lookup struct {
	argv     []string
	notFound int
}

// maxNames is how many names a program gets at once. With 256 bytes each they are far from the limit of Linux.
const maxNames = 500

// FindUnknown is a function for Judge.
func (d Directory) FindUnknown(ctx context.Context, database string, names []string) ([]string, error) {
	numbers, words := splitNumbers(names)
	unknown, err := lookup{[]string{d.Getent, database, "--"}, 2}.findUnknown(ctx, words)
	if err != nil || database != "passwd" {
		return unknown, err // getent(1) reads digits as a gid, although slurmctld tries the name first. No other program finds groups.
	}
	more, err := lookup{[]string{d.ID, "-u", "--"}, 1}.findUnknown(ctx, numbers)
	return append(unknown, more...), err
}

// splitNumbers returns the names that consist of digits, and the others. getent(1) takes digits for a number, id(1) first for a name.
func splitNumbers(names []string) (numbers, words []string) {
	for _, name := range names {
		if name != "" && strings.Trim(name, "0123456789") == "" {
			numbers = append(numbers, name)
		} else {
			words = append(words, name)
		}
	}
	return numbers, words
}

// findUnknown returns the names that the program does not find.
func (l lookup) findUnknown(ctx context.Context, names []string) ([]string, error) {
	var unknown []string
	for some := range slices.Chunk(names, maxNames) {
		found, printed, err := l.run(ctx, some...)
		if err != nil {
			return unknown, err
		}
		if found {
			continue
		}
		for _, name := range withoutPrinted(some, printed) {
			found, _, err := l.run(ctx, name)
			if err != nil {
				return unknown, err
			}
			if !found {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown, nil
}

// run reports whether the program finds all names, and returns its output.
func (l lookup) run(ctx context.Context, names ...string) (found bool, printed string, err error) {
	argv := append(slices.Clone(l.argv), names...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // see above
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, string(out), nil
	case ctx.Err() != nil:
		return false, "", ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == l.notFound:
		return false, string(out), nil
	}
	return false, "", fmt.Errorf("looking %s up with %s: %w", limitList(names), l.argv[0], err)
}

// withoutPrinted returns the names that do not begin a line of getent(1). Other spellings of a name may have been found as well.
func withoutPrinted(names []string, printed string) []string {
	has := map[string]bool{}
	for line := range strings.Lines(printed) {
		name, _, _ := strings.Cut(line, ":")
		has[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return has[name] })
}
