package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// RefusedError reports that files or what they say cannot be applied as they are.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// WaitingError reports that slurmdbd is not ready for accounts yet.
type WaitingError struct{ Reason string }

func (e *WaitingError) Error() string { return e.Reason }

// Loader brings accounts into a database. All fields are required.
type Loader struct {
	// Sacctmgr is the program, and TempDir where files for it are kept.
	Sacctmgr, TempDir string
	// Port returns the port at which slurmdbd listens on this host.
	Port func() (int32, error)
	// User is the name of the user of this program and of slurmdbd, SlurmUser.
	User string
	Log  *slog.Logger
}

// Load tries every file and applies those that are not refused, unless it is a dry run. It returns in one line what
// has changed or would change, empty for nothing. The error is *RefusedError if files are to blame, and *WaitingError
// while slurmdbd or its database does not answer.
func (l Loader) Load(ctx context.Context, wanted slurmconf.Accounts) (string, error) {
	dir, err := os.MkdirTemp(l.TempDir, "accounts-")
	if err != nil {
		return "", fmt.Errorf("making a folder for sacctmgr: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var changes, refused []string
	for _, name := range slices.Sorted(maps.Keys(wanted.Files)) {
		change, err := l.loadFile(ctx, dir, name, wanted)
		var fault *RefusedError
		switch {
		case errors.As(err, &fault):
			refused = append(refused, name+": "+fault.Reason)
		case err != nil:
			return "", err
		case change != "":
			changes = append(changes, change)
		}
	}
	if len(refused) > 0 {
		return "", &RefusedError{Truncate(strings.Join(refused, "; "), maxOutput)}
	}
	return Truncate(strings.Join(changes, "; "), maxReason), nil
}

// loadFile tries a file and applies it.
func (l Loader) loadFile(ctx context.Context, dir, name string, wanted slurmconf.Accounts) (string, error) {
	file, err := ParseFile(wanted.Files[name])
	if err != nil {
		return "", &RefusedError{err.Error()}
	}
	s, err := l.connect(ctx, dir, file.Cluster)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "accounts.cfg")
	if err := os.WriteFile(path, []byte(file.Text), 0o600); err != nil {
		return "", fmt.Errorf("writing a file for sacctmgr: %w", err)
	}
	load := loading{sacctmgr: s, file: file, path: path, text: wanted.Files[name], log: l.Log.With("file", name)}
	change, err := load.try(ctx, wanted, l.User)
	if err == nil && !wanted.DryRun {
		err = load.apply(ctx)
	}
	var failed *commandError
	if !errors.As(err, &failed) {
		return change, err
	}
	if _, asking := s.names(ctx, "cluster", "format=cluster"); asking != nil { // it is not the fault of the file
		return "", waiting(asking)
	}
	return "", &RefusedError{explain(failed.output, load.text)}
}

// connect returns a sacctmgr that asks slurmdbd, when slurmdbd knows the cluster and the user of this program.
func (l Loader) connect(ctx context.Context, dir, cluster string) (sacctmgr, error) {
	s := sacctmgr{program: l.Sacctmgr, conf: filepath.Join(dir, "slurm.conf")}
	port, err := l.Port()
	if err != nil {
		return s, &WaitingError{err.Error()}
	}
	text, err := slurmconf.ClientConf{ClusterName: cluster, SlurmUser: l.User, Hosts: []string{"localhost"}, Port: 6817,
		Accounting: "127.0.0.1", AccountingPort: port}.Render()
	if err != nil {
		return s, &RefusedError{err.Error()}
	}
	if err := os.WriteFile(s.conf, []byte(text), 0o600); err != nil {
		return s, fmt.Errorf("writing a slurm.conf for sacctmgr: %w", err)
	}
	clusters, err := s.names(ctx, "cluster", "format=cluster")
	if err != nil {
		return s, waiting(err)
	}
	if !slices.Contains(clusters, cluster) {
		// sacctmgr would make it, also in a trial, and a cluster stays in the database for ever.
		return s, &WaitingError{fmt.Sprintf("slurmdbd does not know cluster %s yet, which its slurmctld registers; "+
			"it knows %s", cluster, strings.Join(append(clusters, "no others"), ", "))}
	}
	// A cluster is there a moment before its first account.
	existing, err := s.associations(ctx, cluster)
	if err != nil {
		return s, waiting(err)
	}
	if !slices.Contains(existing, Association{Account: "root"}) {
		return s, &WaitingError{fmt.Sprintf("cluster %s has no account root yet", cluster)}
	}
	// sacctmgr load asks whether the database knows the user.
	if !slices.Contains(existing, Association{Account: "root", User: l.User}) {
		_, err = s.run(ctx, "-iQ", "add", "user", l.User, "account=root", "cluster="+cluster)
	}
	if err != nil {
		return s, waiting(err)
	}
	return s, nil
}

// waiting returns the error of a sacctmgr that slurmdbd does not answer.
func waiting(err error) error {
	var failed *commandError
	if errors.As(err, &failed) {
		return &WaitingError{"slurmdbd does not answer sacctmgr: " + explain(failed.output, "")}
	}
	return err
}
