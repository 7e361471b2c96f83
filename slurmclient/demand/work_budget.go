package demand

import "math"

// maxSteps bounds the work of one Compute that finds nodes for jobs. It is some 10 seconds of a slow core: 100,000 jobs, no two alike, in
// a partition of 1,000 pools take an eighth of it.
const maxSteps = 500_000_000

// The steps of what takes longer than one comparison of a request with a shape, a node or a pool.
const (
	stepsPerSpread = 4 // how a job divides over a number of nodes
	stepsPerName   = 4 // looking up the name of a node
	stepsPerFilter = 4 // evaluating a constraint
)

// workBudget counts the elementary steps of an estimate. The count depends only on the input, not on the speed of the machine. Until all
// requests are packed, idle nodes affect the count only if jobs name them. One more idle node therefore rarely changes how requests are
// packed.
type workBudget struct {
	// left is how many more steps the estimate can take. Requests after the last step are estimated in constant time.
	left int
	// reserve is how many steps beyond that constraints are still compared with all sources.
	reserve int
	// done is closed when no caller waits for the result; nil disables the check. uncounted is the number of steps since the last check of
	// done.
	done      <-chan struct{}
	uncounted int
	canceled  bool
}

// newWorkBudget returns a budget of that many steps. done is nil or closed when the computation has to stop.
func newWorkBudget(steps int, done <-chan struct{}) *workBudget {
	return &workBudget{left: steps, reserve: steps / 8, done: done}
}

// stepsPerCheck is how many steps are taken before done is looked at again: less than a millisecond.
const stepsPerCheck = 1 << 14

// spend counts steps.
func (w *workBudget) spend(steps int) {
	w.left -= steps
	if w.done == nil {
		return
	}
	if w.uncounted += steps; w.uncounted >= stepsPerCheck {
		w.checkDone()
	}
}

// isSpent reports whether the estimate has taken all its steps.
func (w *workBudget) isSpent() bool { return w.left < 0 }

// isExhausted reports whether the reserve is spent as well.
func (w *workBudget) isExhausted() bool { return w.left < -w.reserve }

// isCanceled reports whether the computation stops because no caller waits for its result.
func (w *workBudget) isCanceled() bool { return w.canceled }

// stops looks whether the computation stops, and reports it.
func (w *workBudget) stops() bool {
	w.checkDone()
	return w.canceled
}

// checkDone stops the computation if done is closed.
func (w *workBudget) checkDone() {
	w.uncounted = 0
	select {
	case <-w.done:
		w.canceled, w.left = true, math.MinInt/2
	default:
	}
}
