// Package checksums writes the checksums of a release.
package checksums

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is the name of the file with the checksums, in the format of sha256sum.
const File = "SHA256SUMS"

// Write writes the checksums of all files in a folder. It omits blobs of OCI layouts, because their names are their
// checksums, and signatures, because they sign the checksums.
func Write(folder string) error {
	text, err := list(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, File), []byte(text), 0o644)
}

// Check returns an error unless the folder has exactly the files of its checksums, and blobs whose names are their checksums.
func Check(folder string) error {
	want, err := os.ReadFile(filepath.Join(folder, File))
	if err != nil {
		return err
	}
	got, err := list(folder)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		wanted[line] = true
	}
	for line := range strings.Lines(got) {
		if !wanted[line] {
			return fmt.Errorf("%s has no such checksum: %s", File, strings.TrimSpace(line))
		}
		delete(wanted, line)
	}
	for line := range wanted {
		return fmt.Errorf("the file of a checksum is missing: %s", strings.TrimSpace(line))
	}
	return checkBlobs(folder)
}

// checkBlobs checks the blobs of all OCI layouts in a folder.
func checkBlobs(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(filepath.ToSlash(path), blobs) {
			return err
		}
		sum, err := Of(path)
		if err == nil && sum != entry.Name() {
			err = fmt.Errorf("%s has the checksum %s", path, sum)
		}
		return err
	})
}

// list returns the lines of the file with the checksums.
func list(folder string) (string, error) {
	var lines strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || !hasChecksum(filepath.ToSlash(name)) {
			return err
		}
		sum, err := Of(path)
		fmt.Fprintf(&lines, "%s  %s\n", sum, filepath.ToSlash(name))
		return err
	})
	return lines.String(), err
}

// blobs is in the path of each blob of an OCI layout.
const blobs = "/blobs/sha256/"

func hasChecksum(name string) bool {
	return name != File && !strings.HasPrefix(name, File+".") && !strings.Contains(name, blobs)
}

// Of returns the SHA-256 of a file, in hexadecimal digits.
func Of(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
