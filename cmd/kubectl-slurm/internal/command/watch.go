package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

// Control sequences of terminals: move the cursor to the top left, clear the rest of the line, and
// clear everything below the cursor.
const (
	cursorHome = "\x1b[H"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

// watchTable shows a table repeatedly until ctx ends. On a terminal it redraws the table in place.
// Only an error in the first round ends it; later errors are shown.
func (s *session) watchTable(ctx context.Context, pause time.Duration, once func(w io.Writer) ([]string, error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for first := true; ; first = false {
		var screen bytes.Buffer
		notes, err := once(&screen)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first && !isPanickedClusters(err):
			s.printNotes(notes)
			return err
		case err != nil:
			notes = append(notes, err.Error())
		}
		s.drawScreen(screen.Bytes(), notes, s.now())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// drawScreen writes one round.
func (s *session) drawScreen(screen []byte, notes []string, now time.Time) {
	if s.streams.Size == nil {
		_, _ = s.streams.Out.Write(append(screen, '\n'))
		s.printNotes(notes)
		return
	}
	columns, lines := s.streams.Size()
	shown := []string{now.Format(time.TimeOnly)}
	for i := range notes {
		notes[i] = "note: " + table.Clean(notes[i])
		lines -= 1 + utf8.RuneCountInString(notes[i])/columns // a note may wrap
	}
	// One line is for the time and one for the cursor.
	shown = append(shown, fitLines(strings.Split(strings.TrimSuffix(string(screen), "\n"), "\n"), columns, lines-2)...)
	shown = append(shown, notes...)
	_, _ = io.WriteString(s.streams.Out, cursorHome+strings.Join(shown, clearRight+"\n")+clearRight+"\n"+clearBelow)
}

// fitLines truncates text to the size of the terminal, with at least one line. The last line says
// how many lines are missing.
func fitLines(text []string, columns, lines int) []string {
	lines = max(lines, 1)
	if n := len(text) - lines + 1; n > 1 {
		text = append(slices.Clone(text[:lines-1]), fmt.Sprintf("… and %d more lines", n))
	}
	out := make([]string, len(text))
	for i, line := range text {
		out[i] = table.Cut(line, columns)
	}
	return out
}
