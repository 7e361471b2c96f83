package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/slurmtide/slurmtide/hack/release/internal/charts"
	"github.com/slurmtide/slurmtide/hack/release/internal/dockerfile"
	"github.com/slurmtide/slurmtide/hack/release/internal/images"
	"github.com/slurmtide/slurmtide/hack/release/internal/roots"
	"github.com/slurmtide/slurmtide/hack/release/internal/sbom"
	contents "github.com/slurmtide/slurmtide/tools/release"
)

// registry is the registry that charts and pages name for images and charts.
const registry = "ghcr.io/slurmtide"

// programArchitectures are the architectures of all programs for Linux.
var programArchitectures = []string{"amd64", "arm64"}

// makeImages writes the images that the release contains, or those that --images names, as OCI layouts.
func (r *release) makeImages(ctx context.Context) error {
	planned, err := contents.Planned(r.root)
	if err != nil {
		return err
	}
	programs, daemons, err := r.readDockerfiles()
	if err != nil {
		return err
	}
	wanted, err := chooseImages(planned.Images, r.images)
	if err != nil {
		return err
	}
	for _, name := range wanted {
		name, tag, _ := strings.Cut(name, ":")
		image := images.Image{Name: name, Tag: tag, Time: r.source.Time}
		if config, ok := programs[name]; ok {
			image.Config = config
			err = r.makeProgramImage(image)
		} else {
			image.Config = daemons[name]
			image.Config.Labels["org.opencontainers.image.version"] = tag
			err = r.makeDaemonImage(ctx, image)
		}
		if err != nil {
			return fmt.Errorf("%s:%s: %w", name, tag, err)
		}
	}
	return nil
}

// readDockerfiles returns what the Dockerfiles say about images of programs and of daemons.
func (r *release) readDockerfiles() (programs, daemons map[string]dockerfile.Image, err error) {
	arguments := map[string]string{"VERSION": r.source.Version, "COMMIT": r.source.Commit}
	if programs, err = dockerfile.Read(filepath.Join(r.root, "Dockerfile"), arguments); err != nil {
		return nil, nil, err
	}
	daemons, err = dockerfile.Read(filepath.Join(r.root, "images", "Dockerfile"), arguments)
	return programs, daemons, err
}

// chooseImages returns all images as NAME:TAG, or those that the list names, with a tag or in all tags.
func chooseImages(planned map[string][]string, list string) ([]string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		for _, tag := range planned[name] {
			all = append(all, name+":"+tag)
		}
	}
	if list == "" {
		return all, nil
	}
	var out []string
	for _, wanted := range listOf(list) {
		found := slices.DeleteFunc(slices.Clone(all), func(image string) bool {
			return image != wanted && !strings.HasPrefix(image, wanted+":")
		})
		if len(found) == 0 {
			return nil, fmt.Errorf("no image %q, the images are: %s", wanted, strings.Join(all, " "))
		}
		out = append(out, found...)
	}
	return out, nil
}

// makeProgramImage writes the image of a program that GoReleaser compiled.
func (r *release) makeProgramImage(image images.Image) error {
	built := map[string]v1.Image{}
	bills := map[string]sbom.Bill{}
	for _, arch := range programArchitectures {
		path, err := r.programPath(image.Name, "linux", arch)
		if err != nil {
			return err
		}
		if built[arch], err = image.FromProgram(arch, path); err != nil {
			return err
		}
		if bills[arch], err = sbom.OfProgram(path, r.source.Tag()); err != nil {
			return err
		}
	}
	return r.writeImage(image, built, bills, programArchitectures)
}

// programPath returns the path of a compiled program.
func (r *release) programPath(name, os, arch string) (string, error) {
	for _, artifact := range r.programs {
		if artifact.IsProgram() && artifact.Extra.ID == name && artifact.OS == os && artifact.Arch == arch {
			return artifact.Path, nil
		}
	}
	return "", fmt.Errorf("GoReleaser did not compile %s for %s/%s: the step programs does", name, os, arch)
}

// makeDaemonImage writes the image of one of Slurm's daemons.
func (r *release) makeDaemonImage(ctx context.Context, image images.Image) error {
	snapshot, err := r.debianSnapshot(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "slurmtide-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	pinned, err := r.pinnedSnapshot()
	if err != nil {
		return err
	}
	// A root may have been built before or after the commit, but not before the state of the archive that is pinned.
	latest, err := time.Parse("20060102T150405Z", pinned)
	if err != nil {
		return fmt.Errorf("images/snapshot: %w", err)
	}
	builder := roots.Builder{Repository: r.root, Snapshot: snapshot, Log: r.log}
	architectures := listOf(r.architectures)
	built, bills := map[string]v1.Image{}, map[string]sbom.Bill{}
	for _, arch := range architectures {
		r.say("%s:%s for %s", image.Name, image.Tag, arch)
		root, err := builder.Build(ctx, image.Name+":"+image.Tag, arch)
		if err != nil {
			return err
		}
		if built[arch], err = image.FromFolder(arch, root, filepath.Join(work, arch+".tar"), latest); err != nil {
			return err
		}
		packages, err := roots.Packages(root)
		if err != nil {
			return err
		}
		bills[arch] = sbom.OfPackages(packages)
	}
	return r.writeImage(image, built, bills, architectures)
}

// debianSnapshot returns the state of Debian's archive that images are made from: --snapshot, or without it the repository's
// if the archive can be reached.
func (r *release) debianSnapshot(ctx context.Context) (string, error) {
	switch {
	case r.snapshot == "none" || r.snapshotIsMissing:
		return "", nil
	case r.snapshot != "":
		return r.snapshot, nil
	}
	pinned, err := r.pinnedSnapshot()
	if err != nil {
		return "", err
	}
	client := &http.Client{Timeout: 20 * time.Second}
	err = roots.Reachable(ctx, client, roots.Archive, pinned)
	switch {
	case err == nil:
		r.snapshot = pinned
		return pinned, nil
	case r.push != "":
		return "", fmt.Errorf("cannot reach the pinned packages, and --push needs them (or --snapshot none): %w", err)
	}
	r.snapshotIsMissing = true
	r.say("warning: images have the packages of today's mirror, not the pinned ones of %s: %v", pinned, err)
	return "", nil
}

// pinnedSnapshot returns the time of Debian's archive that images/snapshot pins.
func (r *release) pinnedSnapshot() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "images", "snapshot"))
	return strings.TrimSpace(string(text)), err
}

// writeImage writes an image with its bills, and keeps its digest for the charts.
func (r *release) writeImage(
	image images.Image, built map[string]v1.Image, bills map[string]sbom.Bill, architectures []string,
) error {
	digest, err := image.Write(filepath.Join(r.dist, "oci", image.Name, image.Tag), built, architectures)
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		manifest, err := built[arch].Digest()
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s_%s_linux_%s.image", image.Name, image.Tag, arch)
		subject := sbom.Subject{Name: registry + "/" + image.Name, Version: image.Tag, SHA256: manifest.Hex, Kind: sbom.Container}
		if err := bills[arch].Write(r.dist, name, subject, r.source.Time); err != nil {
			return err
		}
	}
	r.digests = append(r.digests, charts.Image{
		Repository: registry + "/" + image.Name, Tag: image.Tag, Digest: digest.String(),
	})
	r.say("%s:%s is %s", image.Name, image.Tag, digest)
	return nil
}
