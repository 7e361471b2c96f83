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

// Write writes the checksums of all files in a folder. Blobs of OCI layouts are left out, since their names are their
// checksums, and so are signatures, which sign the checksums.
func Write(folder string) error {
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
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, File), []byte(lines.String()), 0o644)
}

func hasChecksum(name string) bool {
	return name != File && !strings.HasPrefix(name, File+".") && !strings.Contains(name, "/blobs/sha256/")
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
