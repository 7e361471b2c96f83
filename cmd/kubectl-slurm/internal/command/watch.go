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

// Control sequences of terminals: to go home, to clear what is right of the cursor and
// what is below it.
const (
	home       = "\x1b[H"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

// repeat shows a table again and again until ctx ends. On a terminal it is drawn in the
// same place. An error after the first time is shown, and the next look may be better.
func (s *session) repeat(ctx context.Context, pause time.Duration, once func(w io.Writer) ([]string, error)) error {
	tick := time.NewTicker(max(pause, time.Second/10))
	defer tick.Stop()
	for first := true; ; first = false {
		var screen bytes.Buffer
		notes, err := once(&screen)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first && !isBroken(err):
			s.notes(notes)
			return err
		case err != nil:
			notes = append(notes, err.Error())
		}
		s.draw(screen.Bytes(), notes, s.now())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// draw writes one look.
func (s *session) draw(screen []byte, notes []string, now time.Time) {
	if s.streams.Size == nil {
		_, _ = s.streams.Out.Write(append(screen, '\n'))
		s.notes(notes)
		return
	}
	columns, lines := s.streams.Size()
	shown := []string{now.Format(time.TimeOnly)}
	for i := range notes {
		notes[i] = "note: " + table.Clean(notes[i])
		lines -= 1 + utf8.RuneCountInString(notes[i])/columns // they may take several lines
	}
	// One line is the time's, and one the cursor's.
	shown = append(shown, fit(strings.Split(strings.TrimSuffix(string(screen), "\n"), "\n"), columns, lines-2)...)
	shown = append(shown, notes...)
	_, _ = io.WriteString(s.streams.Out, home+strings.Join(shown, clearRight+"\n")+clearRight+"\n"+clearBelow)
}

// fit leaves what there is room for: at least one line, and no line that goes on in the
// next. The last one tells how many are left out.
func fit(text []string, columns, lines int) []string {
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
