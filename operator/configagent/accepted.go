package configagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// readAccepted returns the record of an earlier pod, or of another one of the daemon, empty if nothing was ever in force.
func (a *Agent) readAccepted() (inForce, error) {
	record, err := readAcceptedRecord(a.cfg.Accepted, a.cfg.Daemon.Conf)
	if err != nil {
		err = fmt.Errorf("reading what was in force before, on which jobs may depend: %w", err)
	}
	return record, err
}

// readAcceptedRecord returns the record in a folder of accepted files, or an empty one. An earlier version of this program kept the
// accepted files as plain files: files newer than the record were written after a downgrade.
func readAcceptedRecord(dir, conf string) (inForce, error) {
	path := filepath.Join(dir, inForceFile)
	record, err := readRecord(dir)
	hasRecord := !errors.Is(err, fs.ErrNotExist)
	if !hasRecord || isNewer(filepath.Join(dir, conf), path) {
		return readAcceptedFiles(dir, conf)
	}
	if err == nil && record.Files.text(conf) == "" {
		err = errors.New("it has no " + conf)
	}
	if err != nil {
		return inForce{}, fmt.Errorf("%s: %w", path, err)
	}
	return record, nil
}

// readAcceptedFiles returns a record of the files in a folder, or an empty one.
func readAcceptedFiles(dir, conf string) (inForce, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return inForce{}, nil
	}
	files, err := ReadFiles(dir)
	if err != nil || files.text(conf) == "" {
		return inForce{}, err
	}
	return inForce{Files: files}, nil
}

// isNewer reports whether a file was written after another one.
func isNewer(path, than string) bool {
	file, err := os.Stat(path)
	other, otherErr := os.Stat(than)
	return err == nil && otherErr == nil && file.ModTime().After(other.ModTime())
}

// writeAccepted keeps files for the agent of the next pod, together with the files of inForce.HandedOut. Both are written in one step.
func (w fileWriter) writeAccepted(dir string, files, handedOut Files) error {
	if err := w.writeRecord(dir, inForce{Files: files, HandedOut: handedOut}); err != nil {
		return err
	}
	return w.writeFolder(dir, nil) // removes the files of an earlier version of this program
}

// writeAccepted keeps the files of a record, and the files to hand out, for other pods. It hands out nothing if another daemon of the
// same state has already handed out this revision. While another daemon serves, only that daemon's agent keeps files, because jobs
// depend on them. ErrStandby reports that the other agent keeps different files.
func (a *Agent) writeAccepted(ctx context.Context, record inForce) error {
	if a.isStandby(ctx) {
		if accepted, err := a.readAccepted(); err != nil || !accepted.Files.hasRevisionOf(record.Files) {
			return ErrStandby
		}
		return nil
	}
	files, handedOut := record.Files, record.HandedOut
	if handedOut != nil && a.isHandedOutByAnother(record) {
		handedOut = nil
	}
	if !a.cfg.Daemon.KeepsKeys {
		files = files.withoutKeys()
	}
	return a.write.writeAccepted(a.cfg.Accepted, files, handedOut)
}

// keep keeps a record for other pods, and returns it with Unkept. The daemon has its files, whether that is possible or not.
func (a *Agent) keep(ctx context.Context, record inForce) inForce {
	err := a.writeAccepted(ctx, record)
	if err != nil && !errors.Is(err, ErrStandby) {
		a.cfg.Log.Error("the configuration that is in force is not kept for other pods", "err", err)
	}
	record.Unkept = err != nil
	return record
}

// isStandby reports whether another daemon of the same state serves.
func (a *Agent) isStandby(ctx context.Context) bool {
	return a.cfg.IsStandby != nil && a.cfg.IsStandby(ctx)
}

// doesDaemonAnswer reports whether the daemon answers. While it does not, isStandby may be false although another one serves: the programs
// that ask about the others need this one.
func (a *Agent) doesDaemonAnswer(ctx context.Context) bool {
	return a.started && (a.cfg.Confirm == nil || a.cfg.Confirm(ctx, a.last.givenAt) == nil)
}

// recordOfEarlierPod returns the files that an earlier pod had, with the keys of the wanted files, and the files that it handed out
// last (inForce). Both are nil if no pod kept any.
func (a *Agent) recordOfEarlierPod(wanted Files) (files, handedOut Files, err error) {
	record, err := a.readAccepted()
	if err != nil || record.Files == nil {
		return nil, nil, err
	}
	if a.cfg.HandOut != nil {
		handedOut = record.HandedOut
	}
	return a.withKeysOf(record.Files, wanted), handedOut, nil
}

// withKeysOf returns accepted files with the keys of the wanted ones, and with the files that belong to them.
func (a *Agent) withKeysOf(accepted, wanted Files) Files {
	out := maps.Clone(accepted)
	if !a.cfg.Daemon.KeepsKeys { // descriptions of keys are accepted without them
		delete(out, slurmconf.KeySetFile)
		delete(out, slurmconf.JWTKeysFile)
	}
	for name, file := range wanted {
		if (IsKey(name) || isOfKeys(name)) && name != a.cfg.Daemon.Conf {
			out[name] = file
		}
	}
	return out
}

// followServing returns the wanted files. While this daemon is in standby and the serving daemon has other files, it returns the
// serving daemon's files with the wanted keys. Jobs depend on these files, and would end after a takeover with different ones. The
// kubelet may bring the wanted files to one pod minutes later than to the other. A daemon that starts has its files at once.
func (a *Agent) followServing(ctx context.Context, wanted Files) Files {
	if !a.started || a.cfg.IsStandby == nil {
		return wanted
	}
	assembled, err := a.cfg.Daemon.Assemble(wanted)
	if err != nil {
		return wanted // look reports the error
	}
	serving, _, err := a.recordOfEarlierPod(assembled)
	if err != nil || serving == nil || serving.hasRevisionOf(wanted) {
		return wanted
	}
	if a.follows && a.last.awaited == awaitsWanted && serving.hasRevisionOf(a.last.wanted) {
		return a.last.wanted // during the start it is unknown whether the daemon is in standby
	}
	if a.follows = a.isStandby(ctx); !a.follows {
		return wanted
	}
	return serving
}

// isOfKeys reports whether a file belongs to the keys although it is no secret.
func isOfKeys(name string) bool {
	return name == slurmconf.KeySetFile || name == slurmconf.JWTKeysFile || name == slurmconf.JWKSFile
}
