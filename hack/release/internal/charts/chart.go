// Package charts packs the charts of a release: each names the release's images by digest, and the same chart makes the same
// archive.
package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// imagesAnnotation names a chart's images. Artifact Hub shows them, and the templates of the charts take digests from it.
const imagesAnnotation = "artifacthub.io/images"

// Image is an image of the release.
type Image struct {
	// Repository and Tag, such as ghcr.io/slurmtide/slurmd and 26.05.
	Repository, Tag string
	// Digest is the digest of the manifest for all architectures, sha256:….
	Digest string
}

// Chart is a chart whose files name images by digest.
type Chart struct {
	Name, Version string
	// Metadata is the content of Chart.yaml.
	Metadata *chart.Metadata
	// Images are the images that the chart and its subcharts use.
	Images []Image
	files  []*chart.File
}

// Load loads the chart in a folder, with the charts in it.
func Load(folder string, images []Image) (Chart, error) {
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		return Chart{}, fmt.Errorf("%s: %w", folder, err)
	}
	out := Chart{Name: loaded.Name(), Version: loaded.Metadata.Version, files: slices.Clone(loaded.Raw)}
	for i, file := range out.files {
		if path.Base(file.Name) != "Chart.yaml" {
			continue
		}
		used := usedImages(path.Dir(file.Name), loaded.Raw, images)
		out.Images = append(out.Images, used...)
		text, err := withImages(file.Data, used)
		if err != nil {
			return Chart{}, fmt.Errorf("%s/%s: %w", folder, file.Name, err)
		}
		out.files[i] = &chart.File{Name: file.Name, Data: text}
		if file.Name == "Chart.yaml" {
			out.Metadata = new(chart.Metadata)
			if err := yaml.Unmarshal(text, out.Metadata); err != nil {
				return Chart{}, err
			}
		}
	}
	slices.SortFunc(out.files, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// usedImages returns the images whose repository the values or the templates of the chart in a folder name, in any tag: users
// may set another one.
func usedImages(folder string, files []*chart.File, images []Image) []Image {
	var out []Image
	for _, image := range images {
		named := regexp.MustCompile(`(^|[\s"])` + regexp.QuoteMeta(image.Repository) + `($|[\s":@])`)
		if slices.ContainsFunc(files, func(file *chart.File) bool {
			name := strings.TrimPrefix(file.Name, strings.TrimPrefix(folder+"/", "./"))
			return (name == "values.yaml" || strings.HasPrefix(name, "templates/")) && named.Match(file.Data)
		}) {
			out = append(out, image)
		}
	}
	return out
}

// withImages adds the annotation with the images to Chart.yaml.
func withImages(text []byte, images []Image) ([]byte, error) {
	if len(images) == 0 {
		return text, nil
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	annotations, _ := fields["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	var list strings.Builder
	for _, image := range images {
		fmt.Fprintf(&list, "- name: %s-%s\n  image: %s:%s@%s\n", path.Base(image.Repository), image.Tag, image.Repository, image.Tag, image.Digest)
	}
	annotations[imagesAnnotation] = list.String()
	fields["annotations"] = annotations
	return yaml.Marshal(fields)
}

// Archive returns the chart as an archive. All its files have one time.
func (c Chart) Archive(at time.Time) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, file := range c.files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: path.Join(c.Name, file.Name), Mode: 0o644, Size: int64(len(file.Data)), ModTime: at}
		if err := archive.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(file.Data); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
