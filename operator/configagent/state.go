package configagent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	// Note is a file that exists once Dir has had a state (slurmconf.StateFile).
	Note string
}

// Prepare must be called before slurmctld starts. It returns an error if slurmctld must not start with the state. If
// slurmctld will convert the state, Prepare first copies the state to a folder of Dir, and replaces an earlier copy. The
// release that wrote the state names the folder, such as backup-24.11.
func (g StateGuard) Prepare(ctx context.Context) error {
	state, ok, err := g.readRelease()
	if err == nil && !ok {
		err = g.checkMissing()
	}
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
	switch releases.JudgeState(own, state) {
	case releases.StateIsNewer:
		return fmt.Errorf("the state in %s was written by Slurm %s, and slurmctld is %s, which cannot read it: "+
			"use an image of %s%s", g.Dir, state, own, state, g.orRestore(own))
	case releases.StateIsTooOld:
		return fmt.Errorf("the state in %s was written by Slurm %s, and slurmctld is %s, which reads that of the three "+
			"releases before it: use an image of a release in between first", g.Dir, state, own)
	case releases.StateIsOlder: // slurmctld has not converted any of it yet
		if err := copyState(g.Dir, g.backup(state)); err != nil {
			return fmt.Errorf("copying the state before slurmctld %s converts it: %w", own, err)
		}
	case releases.StateIsOurs:
	}
	return nil
}

// checkMissing returns an error if the state is missing where one existed: slurmctld would end all jobs.
func (g StateGuard) checkMissing() error {
	for _, name := range stateFiles {
		if _, err := os.Stat(filepath.Join(g.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err // slurmctld reports a damaged file
		}
	}
	note, err := os.ReadFile(g.Note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading whether there was a state: %w", err)
	}
	_, message, _ := strings.Cut(string(note), "\n")
	return errors.New(message)
}

// Release returns the release that wrote the state. It is empty if the state is missing or cannot be read.
func (g StateGuard) Release() string {
	if out, ok, err := g.readRelease(); ok && err == nil {
		return out.String()
	}
	return ""
}

// backup returns the folder of the copy of a release's state.
func (g StateGuard) backup(release releases.Release) string {
	return filepath.Join(g.Dir, "backup-"+release.String())
}

// orRestore names the copy of a state that a slurmctld can read, if one exists.
func (g StateGuard) orRestore(own releases.Release) string {
	copied := StateGuard{Dir: g.backup(own)}
	if found, ok, err := copied.readRelease(); err != nil || !ok || found != own {
		return ""
	}
	return ", or restore " + copied.Dir
}

// stateFiles are the files of the state that name the release that has written them. A slurmctld that ended while it
// converted the state has written only some of them.
var stateFiles = []string{"job_state", "node_state", "part_state", "resv_state", "trigger_state"}

// readRelease returns the newest release in the files of the state, and reports whether a state exists.
func (g StateGuard) readRelease() (releases.Release, bool, error) {
	var out releases.Release
	for _, name := range stateFiles {
		found, ok, err := readStateRelease(filepath.Join(g.Dir, name))
		if err != nil {
			return releases.Release{}, false, err
		}
		if ok && out.Compare(found) < 0 {
			out = found
		}
	}
	return out, out.IsKnown(), nil
}

// stateHeader is how the files of the state begin: the length of a text, the text, and then the version of the
// protocol (docs/development/slurm.md, "State and releases").
const stateHeader = "\x00\x00\x00\x11PROTOCOL_VERSION\x00"

// readStateRelease returns the release that wrote a file of the state, and reports whether it exists.
func readStateRelease(path string) (releases.Release, bool, error) {
	file, err := os.Open(path) //nolint:gosec // see StateGuard
	if errors.Is(err, fs.ErrNotExist) {
		return releases.Release{}, false, nil
	}
	if err != nil {
		return releases.Release{}, false, fmt.Errorf("reading the state of slurmctld: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, int64(len(stateHeader)+2)))
	if err != nil {
		return releases.Release{}, false, fmt.Errorf("reading the state of slurmctld: %w", err)
	}
	rest, ok := strings.CutPrefix(string(content), stateHeader)
	if !ok || len(rest) < 2 {
		return releases.Release{}, false, nil // slurmctld reports the fault
	}
	out, ok := releases.FromProtocol(binary.BigEndian.Uint16([]byte(rest)))
	return out, ok, nil
}

// copyState copies the files of a state and the folders with the scripts of jobs. It removes an earlier copy when the new
// one is complete. An interrupted copy starts again.
func copyState(dir, backup string) error {
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
		// slurmctld replaces its files; the copy has a missing file under its other name.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	earlier := backup + ".earlier"
	if err := os.RemoveAll(earlier); err != nil {
		return err
	}
	if err := os.Rename(backup, earlier); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(unfinished, backup); err != nil {
		return err
	}
	return os.RemoveAll(earlier)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from) //nolint:gosec // see StateGuard
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
