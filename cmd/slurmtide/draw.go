package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/picture"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/show"
)

// drawPictures writes the pictures of a play, its samples and its summary.
func (o *options) drawPictures(r play.Result, how string) error {
	most := 0
	for _, s := range r.Timeline.Last().Sets {
		most += s.Max
	}
	p := picture.Picture{
		Title: "From zero workers to as many as the queue needs, and back",
		Subtitle: fmt.Sprintf("%s; %d jobs in %d shapes, at most %d workers", how, r.Summary.Jobs, len(r.Outcomes),
			most),
		Timeline: r.Timeline, Footer: show.Footer(r),
	}
	err := os.MkdirAll(o.pictures, 0o755) //nolint:gosec // pictures are for everybody
	return errors.Join(err,
		o.writePicture("demo.svg", p.SVG), o.writePicture("demo.png", p.PNG),
		o.writePicture("timeline.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(r.Timeline) }),
		o.writePicture("summary.txt",
			func(w io.Writer) error { _, err := io.WriteString(w, show.Summary(r)); return err }))
}

// writePicture writes one file to the folder of the pictures.
func (o *options) writePicture(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Join(o.pictures, name))
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
