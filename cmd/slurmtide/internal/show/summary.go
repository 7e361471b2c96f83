package show

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
)

// Summary is what came of a play, as lines.
func Summary(r play.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  jobs          %d of %d ran to their end, at their first start\n", r.Summary.Ran, r.Summary.Jobs)
	for _, text := range r.Summary.Lost {
		fmt.Fprintf(&b, "  lost          %s\n", text)
	}
	for _, text := range r.Summary.Unfit {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	for _, x := range r.Line.Reactions() {
		took := "not seen"
		if x.Seen {
			took = fmt.Sprintf("%5.1f s", x.Took.Seconds())
		}
		fmt.Fprintf(&b, "  %-28s %8s after %s\n", x.What, took, x.From)
	}
	if err := r.Verdict(); err != nil {
		fmt.Fprintf(&b, "  FAILED: %v\n", err)
	} else {
		fmt.Fprintln(&b, "  nothing was lost, and all is at zero")
	}
	return b.String()
}
