// Package sbom writes the software bills of materials of a release, in CycloneDX: what each artifact contains. The same
// artifact has the same bill.
package sbom

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"

	"github.com/slurmtide/slurmtide/hack/release/internal/roots"
)

// Suffix ends the names of the files.
const Suffix = ".cdx.json"

// Subject is an artifact of the release.
type Subject struct {
	Name, Version string
	// SHA256 is the digest of the file, or of the manifest of an image or a chart.
	SHA256 string
	Kind   cdx.ComponentType
}

// File and Container are kinds of subjects.
const (
	File      = cdx.ComponentTypeFile
	Container = cdx.ComponentTypeContainer
)

// Bill lists the contents of an artifact.
type Bill struct {
	components   []cdx.Component
	dependencies []cdx.Dependency
	// direct are what the artifact itself contains, and not one of its components.
	direct []string
}

// OfProgram returns the bill of a program: its modules and Go's library.
func OfProgram(path, version string) (Bill, error) {
	generator, err := bin.NewGenerator(path, bin.WithIncludeStdlib(true), bin.WithVersionOverride(version),
		bin.WithLogger(zerolog.New(io.Discard)))
	if err != nil {
		return Bill{}, err
	}
	bom, err := generator.Generate()
	if err != nil {
		return Bill{}, fmt.Errorf("%s: %w", path, err)
	}
	main := *bom.Metadata.Component
	main.Properties = bom.Metadata.Properties
	return Bill{
		components:   append([]cdx.Component{main}, *bom.Components...),
		dependencies: *bom.Dependencies,
		direct:       []string{main.BOMRef},
	}, nil
}

// OfPackages returns the bill of the root file system of a Debian release.
func OfPackages(packages []roots.Package) Bill {
	var out Bill
	for _, p := range packages {
		url := fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", p.Name, p.Version, p.Arch)
		out.components = append(out.components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, PackageURL: url,
		})
		out.direct = append(out.direct, url)
	}
	return out
}

// OfImages returns the bill of a chart, which names images. They are REPOSITORY:TAG@DIGEST.
func OfImages(images []string) Bill {
	var out Bill
	for _, image := range images {
		out.components = append(out.components, cdx.Component{BOMRef: image, Type: Container, Name: image})
		out.direct = append(out.direct, image)
	}
	return out
}

// Write writes the bill of an artifact in a folder. All bills of a release have one time.
func (b Bill) Write(folder, name string, subject Subject, at time.Time) error {
	ref := "artifact:" + subject.Name
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: at.UTC().Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: ref, Type: subject.Kind, Name: subject.Name, Version: subject.Version,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: subject.SHA256}},
		},
	}
	dependencies := append([]cdx.Dependency{{Ref: ref, Dependencies: &b.direct}}, b.dependencies...)
	bom.Components, bom.Dependencies = &b.components, &dependencies
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(folder, name+Suffix))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom); err != nil {
		return err
	}
	return file.Close()
}
