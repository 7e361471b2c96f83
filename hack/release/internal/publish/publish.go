// Package publish pushes the images and charts of a release to a registry, and signs with cosign.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Artifact is an OCI layout of the release: an image or a chart.
type Artifact struct {
	// Folder has the layout.
	Folder string
	// Repository is relative to the registry, such as charts/slurm-stack.
	Repository, Tag string
}

// Find returns the layouts below a folder, whose paths are REPOSITORY/TAG.
func Find(folder string) ([]Artifact, error) {
	var out []Artifact
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == folder {
			return filepath.SkipAll
		}
		if err != nil || entry.Name() != "oci-layout" {
			return err
		}
		layout := filepath.Dir(file)
		name, err := filepath.Rel(folder, layout)
		if err != nil {
			return err
		}
		repository, tag := path.Split(filepath.ToSlash(name))
		out = append(out, Artifact{Folder: layout, Repository: strings.TrimSuffix(repository, "/"), Tag: tag})
		return filepath.SkipDir
	})
	return out, err
}

// Registry is where artifacts go, such as ghcr.io/slurmtide. It uses the credentials of docker login.
type Registry struct {
	Name      string
	PlainHTTP bool
}

// Push copies an artifact with all that it refers to, and returns its address with the digest.
func (r Registry) Push(ctx context.Context, a Artifact) (string, error) {
	store, err := oci.NewFromFS(ctx, os.DirFS(a.Folder))
	if err != nil {
		return "", fmt.Errorf("%s: %w", a.Folder, err)
	}
	address := r.Name + "/" + a.Repository
	repository, err := remote.NewRepository(address)
	if err != nil {
		return "", err
	}
	keys, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return "", err
	}
	repository.PlainHTTP = r.PlainHTTP
	repository.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(keys)}
	pushed, err := oras.Copy(ctx, store, a.Tag, repository, a.Tag, oras.DefaultCopyOptions)
	if err != nil {
		return "", fmt.Errorf("pushing %s:%s: %w", address, a.Tag, err)
	}
	return address + "@" + pushed.Digest.String(), nil
}

// Signer signs with a key of cosign, which must be in PATH.
type Signer struct{ Key string }

// SignFile writes the signature of a file beside it.
func (s Signer) SignFile(ctx context.Context, file string) error {
	return cosign(ctx, "sign-blob", "--yes", "--key", s.Key, "--bundle", file+".sigstore.json", file)
}

// SignArtifact signs the artifact that was pushed to an address.
func (s Signer) SignArtifact(ctx context.Context, address string) error {
	return cosign(ctx, "sign", "--yes", "--recursive", "--key", s.Key, address)
}

func cosign(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "cosign", args...)
	printed, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("--key needs cosign in PATH (https://docs.sigstore.dev/cosign)")
	}
	if err != nil {
		return fmt.Errorf("cosign %s: %w: %s", args[0], err, strings.TrimSpace(string(printed)))
	}
	return nil
}
