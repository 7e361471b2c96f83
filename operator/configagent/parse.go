package configagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// parse makes scontrol parse the unchanged files in the folder dir. The error is *RefusedError if it cannot. scontrol
// reads every value as slurmctld does, and asks no daemon.
func (c Checker) parse(ctx context.Context, dir string, files Files, readable map[string]string) error {
	if c.Scontrol == "" {
		return nil
	}
	if err := files.writeTrial(dir, c.Daemon.ConfsWithIncluded(readable)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Scontrol, "show", "hostnames", "x") //nolint:gosec // see Checker
	cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || !errors.As(err, &exit) || !exit.Exited():
		return fmt.Errorf("parsing the files of a trial: %w: %s", err, c.Daemon.Explain(string(out)))
	}
	verdict, reason := c.Daemon.ReadLog(string(out))
	reason = strings.ReplaceAll(reason, dir+"/", slurmconf.Dir+"/")
	if verdict == trial.Refused {
		return &RefusedError{trial.Locate(c.Daemon.Conf, readable[c.Daemon.Conf], reason)}
	}
	return fmt.Errorf("parsing the files of a trial: %w: %s", err, c.Daemon.Explain(string(out)))
}

// writeTrial writes files to a folder, with the replaced texts instead of their own. Paths in these texts that point into
// the directory of slurm.conf, such as the path of the auth/jwt key, then mean the files of the folder.
func (f Files) writeTrial(dir string, replaced map[string]string) error {
	own := Files{}
	for name, file := range f {
		own[name] = file
	}
	for name, text := range replaced {
		own[name] = File{[]byte(strings.ReplaceAll(text, slurmconf.Dir+"/", dir+"/")), 0o600}
	}
	if err := WriteFiles(dir, own); err != nil {
		return fmt.Errorf("writing the files of a trial: %w", err)
	}
	return nil
}

// hideSecrets returns an error without the keys and passwords that a message of Slurm may quote.
func (f Files) hideSecrets(err error) error {
	if err == nil {
		return nil
	}
	hidden := trial.HideSecrets(err.Error(), f.texts(IsKey), f.texts(func(name string) bool { return !IsKey(name) }))
	var refused *RefusedError
	switch {
	case hidden == err.Error():
		return err
	case errors.As(err, &refused):
		return &RefusedError{hidden}
	}
	return errors.New(hidden)
}
