package charts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
)

// Media types of a chart in a registry. Helm's package with these names would bring clients of clouds along.
const (
	configType  = "application/vnd.cncf.helm.config.v1+json"
	archiveType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// WriteLayout writes a chart's archive as an OCI layout in a folder, as helm push writes it to a registry, and returns its
// digest.
func (c Chart) WriteLayout(ctx context.Context, folder string, archive []byte, at time.Time) (digest.Digest, error) {
	store, err := oci.NewWithContext(ctx, folder)
	if err != nil {
		return "", err
	}
	metadata, err := json.Marshal(c.Metadata)
	if err != nil {
		return "", err
	}
	var blobs []specs.Descriptor
	for _, blob := range []struct {
		mediaType string
		text      []byte
	}{{configType, metadata}, {archiveType, archive}} {
		descriptor := specs.Descriptor{MediaType: blob.mediaType, Digest: digest.FromBytes(blob.text), Size: int64(len(blob.text))}
		if err := store.Push(ctx, descriptor, bytes.NewReader(blob.text)); err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		blobs = append(blobs, descriptor)
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{
		ConfigDescriptor:    &blobs[0],
		Layers:              blobs[1:],
		ManifestAnnotations: c.annotations(at),
	})
	if err != nil {
		return "", err
	}
	// What the store needs while it writes, and its folder's mode, are no part of a layout.
	if err := os.RemoveAll(folder + "/ingest"); err != nil {
		return "", err
	}
	return manifest.Digest, store.Tag(ctx, manifest, c.Version)
}

// annotations returns the annotations of a chart's manifest.
func (c Chart) annotations(at time.Time) map[string]string {
	return map[string]string{
		specs.AnnotationTitle:       c.Name,
		specs.AnnotationVersion:     c.Version,
		specs.AnnotationDescription: c.Metadata.Description,
		specs.AnnotationURL:         c.Metadata.Home,
		specs.AnnotationSource:      c.Metadata.Home,
		specs.AnnotationCreated:     at.UTC().Format(time.RFC3339),
	}
}
