// Package roots gets the root file systems of the images of Slurm's daemons, and reads which packages they have.
package roots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Archive keeps all states that Debian's archive has had.
const Archive = "http://snapshot.debian.org/archive/debian"

// Builder builds root file systems with hack/images/root, which keeps them in the user's cache.
type Builder struct {
	// Repository is the folder of the repository.
	Repository string
	// Snapshot is the time of Debian's archive, such as 20261130T000000Z; empty for what the mirror has now.
	Snapshot string
	Log      io.Writer
}

// Build returns the folder of the root file system of an image such as slurmd:26.05.
func (b Builder) Build(ctx context.Context, image, arch string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.Repository, "hack", "images", "root"), "--arch", arch, image)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if b.Snapshot != "" {
		cmd.Env = append(cmd.Environ(), "SLURMTIDE_MIRROR="+Archive+"/"+b.Snapshot, "SLURMTIDE_SNAPSHOT="+b.Snapshot)
	}
	var printed bytes.Buffer
	cmd.Stderr = io.MultiWriter(b.Log, &printed)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("hack/images/root --arch %s %s: %w\n%s", arch, image, failed, printed.String())
	}
	return strings.TrimSpace(string(out)), err
}

// Reachable reports why the archive with all states cannot be reached, or nil.
func Reachable(ctx context.Context, client *http.Client, archive, snapshot string) error {
	url := archive + "/" + snapshot + "/dists/trixie/InRelease"
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

// Package is an installed package of Debian.
type Package struct{ Name, Version, Arch string }

// Packages returns the packages in a root file system, in the order of dpkg's records.
func Packages(folder string) ([]Package, error) {
	text, err := os.ReadFile(filepath.Join(folder, "var", "lib", "dpkg", "status"))
	if err != nil {
		return nil, err
	}
	return parseStatus(string(text)), nil
}

// parseStatus reads dpkg's records: paragraphs of fields.
func parseStatus(text string) []Package {
	var out []Package
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var p Package
		installed := false
		for line := range strings.Lines(paragraph) {
			field, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
			switch field {
			case "Package":
				p.Name = value
			case "Version":
				p.Version = value
			case "Architecture":
				p.Arch = value
			case "Status":
				installed = strings.HasSuffix(value, " installed")
			}
		}
		if installed {
			out = append(out, p)
		}
	}
	return out
}
