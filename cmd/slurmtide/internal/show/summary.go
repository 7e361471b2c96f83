package show

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
)

// Summary describes the result of a play in lines.
func Summary(r play.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %d of %d jobs ran to completion without a restart\n", r.Summary.Ran, r.Summary.Jobs)
	for _, text := range r.Summary.Lost {
		fmt.Fprintf(&b, "  lost: %s\n", text)
	}
	for _, text := range r.Summary.NeverFits {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	for _, x := range r.Timeline.Reactions() {
		if x.Happened {
			fmt.Fprintf(&b, "  %-28s %5.1f s after %s\n", x.Name, x.Took.Seconds(), x.From)
		} else {
			fmt.Fprintf(&b, "  %-28s did not happen\n", x.Name)
		}
	}
	if err := r.Verdict(); err != nil {
		fmt.Fprintf(&b, "  FAILED: %v\n", err)
	} else {
		fmt.Fprintln(&b, "  no job was lost, and all NodeSets are at zero")
	}
	return b.String()
}

// Footer is the summary in one line.
func Footer(r play.Result) string {
	text := fmt.Sprintf("%d of %d jobs ran to completion", r.Summary.Ran, r.Summary.Jobs)
	for _, x := range r.Timeline.Reactions() {
		switch {
		case !x.Happened:
		case x.Name == "first worker is in service" || x.Name == "first job runs":
			text += fmt.Sprintf("; %s after %.1f s", x.Name, x.Took.Seconds())
		case x.Name == "last pod is deleted":
			text += fmt.Sprintf("; %s %.1f s after the %s", x.Name, x.Took.Seconds(), x.From)
		}
	}
	if err := r.Verdict(); err != nil {
		return text + "; FAILED: " + err.Error()
	}
	return text + "; no job was lost"
}
