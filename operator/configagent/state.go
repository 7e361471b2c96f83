package configagent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slurmtide/slurmtide/operator/releases"
)

// StateGuard keeps the state of slurmctld from a slurmctld that cannot read it, and copies it before a newer
// one converts it.
type StateGuard struct {
	// Slurmctld is the program, and Dir its StateSaveLocation.
	Slurmctld, Dir string
}

// Prepare must be called before slurmctld starts. It returns an error if slurmctld must not start with the
// state. Where slurmctld will convert the state, it copies the state first to a folder of Dir with the name
// of the release that has written it, such as backup-24.11, unless there is one.
func (g StateGuard) Prepare(ctx context.Context) error {
	state, ok, err := readStateRelease(filepath.Join(g.Dir, "job_state"))
	if err != nil || !ok {
		return err
	}
	out, err := exec.CommandContext(ctx, g.Slurmctld, "-V").CombinedOutput() //nolint:gosec // see StateGuard
	if err != nil {
		return fmt.Errorf("asking slurmctld for its release: %w: %s", err, strings.TrimSpace(string(out)))
	}
	own, err := releases.Parse(string(out))
	if err != nil {
		return fmt.Errorf("asking slurmctld for its release: %w", err)
	}
	backup := filepath.Join(g.Dir, "backup-"+state.String())
	switch releases.JudgeState(own, state) {
	case releases.StateIsNewer:
		return fmt.Errorf("the state in %s was written by Slurm %s, and slurmctld is %s, which cannot read it: "+
			"use an image of %s, or restore %s", g.Dir, state, own, state, filepath.Join(g.Dir, "backup-"+own.String()))
	case releases.StateIsTooOld:
		return fmt.Errorf("the state in %s was written by Slurm %s, and slurmctld is %s, which reads that of the three "+
			"releases before it: use an image of a release in between first", g.Dir, state, own)
	case releases.StateIsOlder:
		if err := copyState(g.Dir, backup); err != nil {
			return fmt.Errorf("copying the state before slurmctld %s converts it: %w", own, err)
		}
	case releases.StateIsOurs:
	}
	return nil
}

// stateHeader is how the files of the state begin: the length of a text, the text, and then the version of the
// protocol (docs/development/slurm.md, "State and releases").
const stateHeader = "\x00\x00\x00\x11PROTOCOL_VERSION\x00"

// readStateRelease returns the release that has written a file of the state, and reports whether there is one.
func readStateRelease(path string) (releases.Release, bool, error) {
	content, err := os.ReadFile(path) //nolint:gosec // see StateGuard
	if errors.Is(err, fs.ErrNotExist) {
		return releases.Release{}, false, nil
	}
	if err != nil {
		return releases.Release{}, false, fmt.Errorf("reading the state of slurmctld: %w", err)
	}
	rest, ok := strings.CutPrefix(string(content[:min(len(content), len(stateHeader)+2)]), stateHeader)
	if !ok || len(rest) < 2 {
		return releases.Release{}, false, nil // slurmctld says what is wrong with it
	}
	out, ok := releases.FromProtocol(binary.BigEndian.Uint16([]byte(rest)))
	return out, ok, nil
}

// copyState copies the files of a state and the folders with the scripts of jobs, unless the copy exists. An
// interrupted copy is begun again.
func copyState(dir, backup string) error {
	if _, err := os.Stat(backup); err == nil {
		return nil
	}
	unfinished := backup + ".unfinished"
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o700)); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		from, to := filepath.Join(dir, entry.Name()), filepath.Join(unfinished, entry.Name())
		switch {
		case entry.Type().IsRegular():
			err = copyFile(from, to)
		case entry.IsDir() && strings.HasPrefix(entry.Name(), "hash."): // scripts and environments of jobs
			err = os.CopyFS(to, os.DirFS(from))
		}
		// slurmctld replaces its files; one that has vanished is in the copy under its other name.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(unfinished, backup)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from) //nolint:gosec // see StateGuard
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
