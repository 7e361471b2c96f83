package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slurmtide/slurmtide/hack/release/internal/charts"
	"github.com/slurmtide/slurmtide/hack/release/internal/sbom"
)

// makeCharts writes all charts as archives and as OCI layouts.
func (r *release) makeCharts(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(r.root, "charts", "*", "Chart.yaml"))
	if err != nil {
		return err
	}
	for _, file := range folders {
		chart, err := charts.Load(filepath.Dir(file), r.digests)
		if err != nil {
			return err
		}
		if err := r.makeChart(ctx, chart); err != nil {
			return fmt.Errorf("%s: %w", chart.Name, err)
		}
	}
	return nil
}

func (r *release) makeChart(ctx context.Context, chart charts.Chart) error {
	archive, err := chart.Archive(r.source.Time)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.tgz", chart.Name, chart.Version)
	if err := os.WriteFile(filepath.Join(r.dist, name), archive, 0o644); err != nil {
		return err
	}
	layout := filepath.Join(r.dist, "oci", "charts", chart.Name, chart.Version)
	digest, err := chart.WriteLayout(ctx, layout, archive, r.source.Time)
	if err != nil {
		return err
	}
	var images []string
	for _, image := range chart.Images {
		images = append(images, fmt.Sprintf("%s:%s@%s", image.Repository, image.Tag, image.Digest))
	}
	r.say("chart %s %s is %s, with %d images by digest", chart.Name, chart.Version, digest, len(images))
	sum := sha256.Sum256(archive)
	subject := sbom.Subject{Name: name, Version: chart.Version, SHA256: hex.EncodeToString(sum[:]), Kind: sbom.File}
	return sbom.OfImages(images).Write(r.dist, name, subject, r.source.Time)
}
