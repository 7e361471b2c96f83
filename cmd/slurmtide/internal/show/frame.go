package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// Screen is the content of the live view.
type Screen struct {
	// How describes the demo in one line.
	How string
	// Since is the time since the demo started.
	Since time.Duration
	Now   time.Time
	Steps []steps.Status
	// Preview is a simulation that is shown before the play; nil without one.
	Preview *play.View
	// Play is nil until the play starts.
	Play *play.View
}

// Size is the size of a terminal in characters.
type Size struct{ Width, Height int }

// RenderFrame renders a screen as lines that fit a terminal. It is pure.
func RenderFrame(s Screen, size Size, p painter) []string {
	lines := []string{renderHeader(s, size, p), ""}
	switch {
	case s.Play != nil:
		lines = append(lines, renderPlay(*s.Play, Size{size.Width, size.Height - len(lines)}, p)...)
	case s.Preview != nil:
		lines = append(lines, renderPreview(s, Size{size.Width, size.Height - len(lines)}, p)...)
	default:
		lines = append(lines, renderSteps(s.Steps, s.Now, size.Width, p)...)
	}
	if len(lines) > size.Height {
		lines = lines[:max(size.Height, 0)]
	}
	for i, line := range lines {
		lines[i] = clipLine(line, size.Width)
	}
	return lines
}

// renderPreview renders the running step above the simulation.
func renderPreview(s Screen, size Size, p painter) []string {
	running := slices.DeleteFunc(slices.Clone(s.Steps), func(step steps.Status) bool {
		return step.State != steps.Running && step.State != steps.Failed
	})
	lines := append(renderSteps(running, s.Now, size.Width, p), "",
		p(yellow, "  SIMULATED, until Kubernetes runs: the same jobs, without Kubernetes and Slurm"), "")
	return append(lines, renderPlay(*s.Preview, Size{size.Width, size.Height - len(lines)}, p)...)
}

func renderHeader(s Screen, size Size, p painter) string {
	clock := fmt.Sprintf("%d:%02d", int(s.Since.Minutes()), int(s.Since.Seconds())%60)
	const name = " slurmtide demo "
	return p("1;7", name) + " " + p(dim, padText(s.How, size.Width-len(name)-len(clock)-3)) + " " + p(strong, clock)
}

// renderSteps lists the steps. A running step takes a second line for its progress.
func renderSteps(list []steps.Status, now time.Time, width int, p painter) []string {
	const name = 36
	var lines []string
	for _, s := range list {
		switch s.State {
		case steps.Waiting:
			lines = append(lines, p(dim, "  · "+s.Name))
		case steps.Done:
			lines = append(lines, p(green, "  ✓ ")+padText(s.Name, name)+
				p(dim, fmt.Sprintf("%6.1f s", s.Took.Seconds())))
		case steps.Failed:
			lines = append(lines, p(red, "  ✗ ")+padText(s.Name, name)+p(red, fmt.Sprintf("%6.1f s", s.Took.Seconds())))
		default:
			took := now.Sub(s.Began)
			head := p(cyan, "  "+spinnerSign(took)+" ") + p(strong, padText(s.Name, name)) +
				fmt.Sprintf("%6.0f s ", took.Seconds())
			lines = append(lines, head+progressBar(s.Progress, 20, p),
				p(dim, "      "+padText(s.Progress.Text, width-8)))
		}
	}
	return lines
}

func spinnerSign(since time.Duration) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[int(max(since, 0)/(100*time.Millisecond))%len(frames)])
}

// progressBar shows the share that is done. It is empty when the total is unknown.
func progressBar(progress steps.Progress, width int, p painter) string {
	if progress.Total <= 0 {
		return ""
	}
	done := min(width, width*progress.Done/progress.Total)
	return " " + p(green, strings.Repeat("━", done)) + p(dim, strings.Repeat("─", width-done)) +
		fmt.Sprintf(" %3d %%", min(100, 100*progress.Done/progress.Total))
}
