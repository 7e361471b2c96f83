package configagent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Files are the files of a folder by name.
type Files map[string]File

// File is the content and the mode of a file.
type File struct {
	Content []byte
	Mode    fs.FileMode
}

// ReadFiles reads the files of a folder. It follows symbolic links, and leaves out folders and names that begin with a dot.
// In a volume of the kubelet all files are of one version, also while the kubelet replaces it.
func ReadFiles(dir string) (Files, error) {
	dir = versionOf(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := Files{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		file, isRegular, err := readFile(filepath.Join(dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is being replaced: %w", filepath.Join(dir, entry.Name()), err)
		}
		if err != nil {
			return nil, err
		}
		if isRegular {
			out[entry.Name()] = file
		}
	}
	return out, nil
}

// versionOf returns the folder with the files of a kubelet volume, and any other folder unchanged. The kubelet replaces that
// folder as a whole, and changes the links beside it one by one, before or after that.
func versionOf(dir string) string {
	if version, err := filepath.EvalSymlinks(filepath.Join(dir, "..data")); err == nil {
		return version
	}
	return dir
}

// readFile returns the content and the mode of a file, and reports whether it is a file with content.
func readFile(path string) (file File, isRegular bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return File{}, false, err
	}
	content, err := os.ReadFile(path) //nolint:gosec // the folder is given by whoever starts the agent
	return File{content, info.Mode().Perm()}, true, err
}

// Equal reports whether both have the same names and contents. Modes do not count.
func (f Files) Equal(other Files) bool {
	return maps.EqualFunc(f, other, func(a, b File) bool { return bytes.Equal(a.Content, b.Content) })
}

// text returns the content of a file, or an empty string.
func (f Files) text(name string) string { return string(f[name].Content) }

// jwtKeys returns the ids of the auth/jwt keys that a rotation made, or an empty string.
func (f Files) jwtKeys() string { return strings.TrimSpace(f.text(slurmconf.JWTKeysFile)) }

// gresTypes returns the kinds of GRES in slurm.conf and the files that it includes, nil without slurm.conf.
func (f Files) gresTypes() []string {
	if _, has := f["slurm.conf"]; !has {
		return nil
	}
	texts := f.texts(func(name string) bool { return !IsKey(name) })
	return append([]string{}, slurmconf.GRESTypes(slurmconf.ParseFiles(texts, texts["slurm.conf"]))...)
}

// keySet returns the ids of the keys in slurm.jwks. It is empty without keys, and if the file does not match these keys: a daemon
// would end with such a file.
func (f Files) keySet() string {
	text := strings.TrimSpace(f.text(slurmconf.KeySetFile))
	set, err := plan.ParseKeySet(text)
	if err != nil || keyfile.Check(f["slurm.jwks"].Content, set) != nil {
		return ""
	}
	return text
}

// mainFiles are the files without which no daemon starts.
var mainFiles = []string{"slurm.key", "slurmdbd.conf", "slurm.conf"}

// WriteFiles makes a folder contain exactly these files, each written as a whole, the main ones last. If one cannot be written,
// such as on a full disk, none is replaced. Only their owner may read keys. Names that begin with a dot stay.
func WriteFiles(dir string, files Files) error { return newFileWriter().writeFolder(dir, files) }

// writeFolder is WriteFiles.
func (w fileWriter) writeFolder(dir string, files Files) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // commands of other users read slurm.conf
		return err
	}
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(mainFiles, a), slices.Index(mainFiles, b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		if err := w.prepare(preparedPath(filepath.Join(dir, name)), files[name].protected(name)); err != nil {
			return err
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := w.replace(preparedPath(path), path); err != nil {
			return err
		}
	}
	return removeOthers(dir, files)
}

// removeOthers removes all files of a folder that are not in files.
func removeOthers(dir string, files Files) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, wanted := files[entry.Name()]; !wanted && !strings.HasPrefix(entry.Name(), ".") && !entry.IsDir() {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// IsKey reports whether a file of the directory of slurm.conf is a secret. slurmdbd.conf contains one.
func IsKey(name string) bool { return trial.IsKey(name) }

// texts returns the contents of the files whose names keep accepts.
func (f Files) texts(keep func(name string) bool) map[string]string {
	out := map[string]string{}
	for name, file := range f {
		if keep(name) {
			out[name] = string(file.Content)
		}
	}
	return out
}

// withoutKeys returns the files that may be kept outside of memory.
func (f Files) withoutKeys() Files {
	out := maps.Clone(f)
	maps.DeleteFunc(out, func(name string, _ File) bool { return IsKey(name) })
	return out
}
