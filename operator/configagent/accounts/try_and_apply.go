package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// loading is one file while it is loaded into the database.
type loading struct {
	sacctmgr
	file File
	// path is the path of the file, and text the user's text.
	path, text string
	log        *slog.Logger
	// changed are the QOS that exist already.
	changed []QOS
}

// try lets sacctmgr make every change and take it back. Unless it is a dry run, it creates new QOS: the trial of the
// accounts needs them, and nothing uses them yet. It returns the changes in one line, and keeps them for apply.
func (l *loading) try(ctx context.Context, dryRun bool) (string, error) {
	changes, err := l.tryQOS(ctx, dryRun)
	if err != nil {
		return "", err
	}
	output, err := l.run(ctx, "load", "file="+l.path)
	var failed *commandError
	isRefused := errors.As(err, &failed)
	if isRefused {
		output = failed.output
	}
	l.log.Info("what sacctmgr load says without applying it", "output", Truncate(output, maxOutput))
	if isRefused && dryRun && strings.Contains(strings.Join(changes, " "), addsQOS) {
		// The missing object may be a QOS.
		return fmt.Sprintf("%s; the accounts can be tried only when the QOS exist: %s", strings.Join(changes, "; "),
			explain(output, l.text)), nil
	}
	if err != nil {
		return "", err
	}
	if summary := Summarize(output); summary != "" {
		changes = append(changes, summary)
	}
	return strings.Join(changes, "; "), nil
}

// addsQOS is the prefix of the message about a new QOS.
const addsQOS = "adds QOS "

// tryQOS tries the QOS of the file and, unless it is a dry run, creates the new ones. It returns the changes.
func (l *loading) tryQOS(ctx context.Context, dryRun bool) ([]string, error) {
	if len(l.file.QOS) == 0 {
		return nil, nil
	}
	existing, err := l.names(ctx, "qos", "format=name")
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, qos := range l.file.QOS {
		isNew := !slices.Contains(existing, qos.Name)
		command := changeQOS(qos)
		if isNew {
			command = append([]string{"add", "qos", qos.Name}, qos.Options...)
		} else if len(qos.Options) == 0 {
			continue
		}
		if _, err := l.run(ctx, command...); err != nil {
			return nil, inLine(qos.Line, err)
		}
		described := strings.Join(append([]string{qos.Name}, qos.Options...), " ")
		if !isNew {
			// sacctmgr does not print the old value.
			l.changed, changes = append(l.changed, qos), append(changes, "sets QOS "+described)
			continue
		}
		changes = append(changes, addsQOS+described)
		existing = append(existing, qos.Name)
		if dryRun {
			continue
		}
		if _, err := l.run(ctx, append([]string{"-i"}, command...)...); err != nil {
			return nil, inLine(qos.Line, err)
		}
	}
	return changes, nil
}

// changeQOS returns the command that gives a QOS its options.
func changeQOS(qos QOS) []string {
	return append([]string{"modify", "qos", "where", "name=" + qos.Name, "set"}, qos.Options...)
}

// inLine returns an error of sacctmgr that names the line of the file.
func inLine(line int, err error) error {
	var failed *commandError
	if !errors.As(err, &failed) {
		return err
	}
	return &commandError{fmt.Sprintf("line(%d)\n%s", line, failed.output)}
}

// apply makes the changes that were tried.
func (l *loading) apply(ctx context.Context) error {
	for _, qos := range l.changed {
		if _, err := l.run(ctx, append([]string{"-i"}, changeQOS(qos)...)...); err != nil {
			return inLine(qos.Line, err)
		}
	}
	_, err := l.run(ctx, "-i", "load", "file="+l.path)
	return err
}
