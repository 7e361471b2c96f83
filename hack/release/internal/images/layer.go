package images

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file of a layer.
type file struct {
	name string
	mode int64
	text []byte
}

// programFiles returns the files of a program's image: the program, and the certificates of public CAs, which are Mozilla's
// in the version that go.mod names.
func programFiles(name, path string) ([]file, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return []file{
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: publicCertificates()},
		{name: name, mode: 0o755, text: program},
	}, nil
}

// publicCertificates returns certificates in PEM. It omits a CA that is trusted only under a condition, since a file cannot express
// conditions.
func publicCertificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return out.Bytes()
}

// layerOf returns a layer with the files and the folders above them, all of root and with one time.
func layerOf(files []file, at time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	folders := map[string]bool{}
	for _, f := range files {
		for i, c := range f.name {
			if folder := f.name[:i]; c == '/' && !folders[folder] {
				folders[folder] = true
				header := tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: at}
				if err := out.WriteHeader(&header); err != nil {
					return nil, err
				}
			}
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: at}
		if err := out.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := out.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithCompressedCaching)
}

// layerOfFolder returns a layer with the files of a root file system, in the archive file, which it writes. Devices and what
// a container engine mounts are left out. Times later than the given one become that time.
func layerOfFolder(folder, archive string, at time.Time) (v1.Layer, error) {
	cmd := exec.Command("tar", "--create", "--sort=name", "--format=gnu", "--numeric-owner", "--one-file-system",
		fmt.Sprintf("--mtime=@%d", at.Unix()), "--clamp-mtime", "--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*",
		"--file="+archive, "--directory="+folder, ".")
	if printed, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("tar: %w: %s", err, bytes.TrimSpace(printed))
	}
	return tarball.LayerFromFile(archive, tarball.WithCompressedCaching)
}
