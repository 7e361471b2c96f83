// Package images assembles container images without a container engine, and writes them as OCI layouts. The same files make
// the same digest.
package images

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slurmtide/slurmtide/hack/release/internal/dockerfile"
)

// Image is an image of one or more architectures, without its files.
type Image struct {
	// Name and Tag, such as slurmd and 26.05.
	Name, Tag string
	Config    dockerfile.Image
	Time      time.Time
}

// FromProgram returns the image of a program for an architecture.
func (i Image) FromProgram(arch, path string) (v1.Image, error) {
	files, err := programFiles(i.Name, path)
	if err != nil {
		return nil, err
	}
	layer, err := layerOf(files, i.Time)
	if err != nil {
		return nil, err
	}
	return i.assemble(arch, layer)
}

// FromFolder returns the image of a root file system for an architecture. Files that are later than latest get that time. The file
// archive must stay until the image is written.
func (i Image) FromFolder(arch, folder, archive string, latest time.Time) (v1.Image, error) {
	layer, err := layerOfFolder(folder, archive, latest)
	if err != nil {
		return nil, err
	}
	return i.assemble(arch, layer)
}

// assemble returns the image of one layer.
func (i Image) assemble(arch string, layer v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: i.Time}, CreatedBy: "slurmtide make release"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = arch, "linux", v1.Time{Time: i.Time}
	config.Config = v1.Config{
		User: i.Config.User, Entrypoint: i.Config.Entrypoint, Labels: i.Config.Labels,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	for _, port := range i.Config.Ports {
		if config.Config.ExposedPorts == nil {
			config.Config.ExposedPorts = map[string]struct{}{}
		}
		config.Config.ExposedPorts[port+"/tcp"] = struct{}{}
	}
	return mutate.ConfigFile(image, config)
}

// Write writes the image with its architectures as an OCI layout in a folder, and returns its digest.
func (i Image) Write(folder string, architectures map[string]v1.Image, order []string) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range order {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        architectures[arch],
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	annotated, ok := mutate.Annotations(index, i.Config.Labels).(v1.ImageIndex)
	if !ok {
		return v1.Hash{}, fmt.Errorf("%s: the index takes no annotations", i.Name)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(annotated, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": i.Tag,
	})); err != nil {
		return v1.Hash{}, err
	}
	return annotated.Digest()
}
