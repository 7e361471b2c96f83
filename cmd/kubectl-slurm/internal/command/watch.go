package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
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
		case err != nil && first:
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
	if !s.streams.Terminal {
		_, _ = s.streams.Out.Write(append(screen, '\n'))
		s.notes(notes)
		return
	}
	var out bytes.Buffer
	out.WriteString(home)
	fmt.Fprintf(&out, "%s%s\n", now.Format(time.TimeOnly), clearRight)
	out.Write(bytes.ReplaceAll(screen, []byte("\n"), []byte(clearRight+"\n")))
	for _, n := range notes {
		fmt.Fprintf(&out, "note: %s%s\n", n, clearRight)
	}
	out.WriteString(clearBelow)
	_, _ = s.streams.Out.Write(out.Bytes())
}
