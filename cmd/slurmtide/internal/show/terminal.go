package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// redrawInterval is the time between two frames.
const redrawInterval = 200 * time.Millisecond

// Terminal shows the demo live. It is safe for concurrent use.
type Terminal struct {
	out   *os.File
	paint painter
	began time.Time
	stop  chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	screen Screen
}

// IsTerminal reports whether the file is a terminal that supports cursor movement.
func IsTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" //nolint:gosec // a small number
}

// NewTerminal starts to draw on the alternate screen until Close. how describes the demo in one
// line.
func NewTerminal(out *os.File, how string) *Terminal {
	t := &Terminal{out: out, paint: PaintColours, began: time.Now(), stop: make(chan struct{}),
		done: make(chan struct{})}
	if os.Getenv("NO_COLOR") != "" {
		t.paint = PaintPlain
	}
	t.screen.How = how
	_, _ = fmt.Fprint(out, "\x1b[?1049h\x1b[?25l")
	go t.drawUntilClosed()
	return t
}

func (t *Terminal) drawUntilClosed() {
	defer close(t.done)
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	for {
		t.draw()
		select {
		case <-t.stop:
			return
		case <-tick.C:
		}
	}
}

// draw replaces the previous frame in one write.
func (t *Terminal) draw() {
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[H")
	for i, line := range t.frame(t.size()) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + "\x1b[K")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	_, _ = io.WriteString(t.out, b.String())
}

func (t *Terminal) frame(size Size) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Now = time.Now()
	t.screen.Since = t.screen.Now.Sub(t.began)
	return RenderFrame(t.screen, size, t.paint)
}

// size returns the size of the terminal, 80 by 24 if it is unknown.
func (t *Terminal) size() Size {
	width, height, err := term.GetSize(int(t.out.Fd())) //nolint:gosec // a small number
	if err != nil || width <= 0 || height <= 0 {
		return Size{80, 24}
	}
	return Size{width, height}
}

// Steps shows the status of the steps.
func (t *Terminal) Steps(board []steps.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Steps = board
}

// Preview shows a simulation until Play is called.
func (t *Terminal) Preview(v play.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Preview = &v
}

// Play shows the play.
func (t *Terminal) Play(v play.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Play = &v
}

// Close restores the screen and prints the last frame.
func (t *Terminal) Close() {
	close(t.stop)
	<-t.done
	size := t.size()
	_, _ = fmt.Fprint(t.out, "\x1b[?25h\x1b[?1049l")
	for _, line := range t.frame(Size{size.Width, 1000}) {
		_, _ = fmt.Fprintln(t.out, line)
	}
	_, _ = fmt.Fprintln(t.out)
}
