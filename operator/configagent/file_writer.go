package configagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileWriter replaces a file in one step: prepare writes it beside its place, and replace moves it there.
type fileWriter struct {
	prepare func(prepared string, file File) error
	replace func(prepared, path string) error
}

func newFileWriter() fileWriter { return fileWriter{prepareFile, os.Rename} }

// writeFile replaces a file in one step.
func writeFile(path string, file File) error {
	if err := prepareFile(preparedPath(path), file.protected(filepath.Base(path))); err != nil {
		return err
	}
	return os.Rename(preparedPath(path), path)
}

// preparedPath returns where the content of a file is until the file is replaced. Only one process may write the file.
func preparedPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
}

func prepareFile(prepared string, file File) error {
	if err := os.WriteFile(prepared, file.Content, 0o600); err != nil {
		return err
	}
	return os.Chmod(prepared, file.Mode)
}

// protected returns the file of a name. A key is for its owner only.
func (f File) protected(name string) File {
	if IsKey(name) {
		f.Mode = 0o600
	}
	return f
}

// writeShared replaces a file that several processes may replace at the same time, in one step. It is on the disk before.
func (w fileWriter) writeShared(path string, file File) error {
	prepared, err := createTemporary(path)
	if err != nil {
		return err
	}
	err = w.prepare(prepared, file)
	if err == nil {
		err = syncFile(prepared)
	}
	if err == nil {
		err = w.replace(prepared, path)
	}
	if err != nil {
		_ = os.Remove(prepared) // createTemporary does it later
	}
	return err
}

// WriteShared replaces a file that several processes may replace at the same time, in one step. It is on the disk before.
func WriteShared(path string, file File) error { return newFileWriter().writeShared(path, file) }

// leftoverAge is the age at which a file of createTemporary belongs to a process that has ended.
const leftoverAge = time.Hour

// createTemporary creates an empty file beside a path and returns its path. No other process uses the file. It removes the
// files that other processes left behind.
func createTemporary(path string) (string, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.new")
	if err != nil {
		return "", err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	removeLeftovers(path, info.ModTime().Add(-leftoverAge)) // by the clock of the volume
	return file.Name(), nil
}

// removeLeftovers removes the files of createTemporary that are older than a time. A file that remains does no harm.
func removeLeftovers(path string, before time.Time) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, "."+filepath.Base(path)+".") || !strings.HasSuffix(name, ".new") {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), name))
		}
	}
}

// syncFile returns when a file is on the disk.
func syncFile(path string) error {
	file, err := os.Open(path) //nolint:gosec // it was written before
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
