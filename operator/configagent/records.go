package configagent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// inForce is the first of the agent's two records: what the daemon has. It is kept in the live folder, with keys, for the
// next agent of the pod.
type inForce struct {
	// Files are those that the daemon has confirmed last, nil if there are none. Before the daemon has started, they are
	// those that an earlier pod had.
	Files Files `json:"files,omitempty"`
	// Given are files that the daemon was given later and has not confirmed, nil if there are none. While they are given or
	// taken back, the daemon has one or the other.
	Given Files `json:"given,omitempty"`
	// Unkept says that Files could not be kept for other pods yet, or differ from those of another daemon that served then.
	Unkept bool `json:"unkept,omitempty"`
	// Since is when the daemon confirmed Files.
	Since time.Time `json:"since,omitzero"`
	// HandedOut are the files that the daemon has handed out last, without keys, while it still has to hand out those that it
	// has. They are nil if it has nothing to hand out.
	HandedOut Files `json:"handedOut,omitempty"`
}

// attempt is the second record: the last attempt to give the daemon what is wanted.
type attempt struct {
	// wanted are the files, as the kubelet brought them or as the daemon that serves has them, and revision is their revision.
	wanted   Files
	revision string
	// brought is the revision that the kubelet has brought.
	brought string
	// accepted are the files made of them that Check has accepted, nil if it has not.
	accepted Files
	// err says why they are not in force, nil if nothing is wrong.
	err error
	// failures is how often the attempt has failed, and retryAt when it is made again. A zero retryAt after an error means
	// never: the daemon refuses the files.
	failures int
	retryAt  time.Time
	// isGiven says that the attempt failed after the daemon was given the files, so that those in force are restored.
	isGiven bool
	// awaited is what the daemon was given, and has to confirm, since givenAt.
	awaited awaited
	givenAt time.Time
}

// handOut is when to hand out files again, after failures that ended with err. A *HeldError is no failure.
type handOut struct {
	err      error
	failures int
	retryAt  time.Time
}

// awaited is what a daemon has to confirm.
type awaited int

const (
	awaitsNothing awaited = iota
	// awaitsWanted: the daemon was given the wanted files.
	awaitsWanted
	// awaitsRestored: it was given those in force again.
	awaitsRestored
)

// step is what the agent does next.
type step int

const (
	stepNone step = iota
	// stepSettle: the wanted files are in force.
	stepSettle
	// stepTry: check the wanted files and give them to the daemon.
	stepTry
	// stepConfirm: ask the daemon whether it has what it was given.
	stepConfirm
	// stepRestore: give the daemon those in force again.
	stepRestore
)

// retryDelay is how long the agent waits before it looks again at what waits for something else.
const retryDelay = 5 * time.Second

// nextStep decides from the two records what to do about the wanted files. files are made of them, nil if that is not
// possible. started reports whether the daemon can start.
func nextStep(now time.Time, f inForce, last attempt, wanted, files Files, started bool) step {
	isNew := last.wanted == nil || !wanted.Equal(last.wanted)
	isDue := !last.retryAt.IsZero() && !now.Before(last.retryAt)
	switch {
	case started && f.Given == nil && f.Files != nil && files.Equal(f.Files):
		return stepSettle
	case isNew:
		return stepTry
	case last.awaited != awaitsNothing:
		return stepConfirm
	case isDue:
		return stepTry
	case (f.Given != nil || !started) && !now.Before(last.givenAt.Add(retryDelay)):
		return stepRestore
	}
	return stepNone
}

// undoDelay is how long restoring what was in force before may take until what is wanted is tried again nevertheless. The
// kubelet waits up to five minutes before it starts a daemon again that has ended several times.
const undoDelay = 7 * time.Minute

// backoff returns when to try again after a number of failures. An attempt that the daemon had to be rescued from
// interrupts it each time.
func backoff(now time.Time, failures int, interrupts bool) time.Time {
	first, longest := retryDelay, time.Minute
	if interrupts {
		first, longest = time.Minute, time.Hour
	}
	return now.Add(min(first<<min(failures-1, 10), longest))
}

// inForceFile has the record in the live folder, and that of the accepted files, without keys, in the accepted folder.
const inForceFile = ".in-force"

// loadInForce returns the record in the live folder, and reports whether the daemon can start with what is there.
func loadInForce(live, conf string) (inForce, bool) {
	files, err := ReadFiles(live)
	started := err == nil && files.text(conf) != ""
	out, err := readRecord(live)
	switch {
	case err != nil && started: // an earlier version of this program kept none
		return inForce{Files: files, Given: files}, true
	case err != nil:
		return inForce{}, false
	case started && out.Given == nil && !files.Equal(out.Files): // somebody else has written
		out.Given = files
	}
	return out, started
}

// readRecord returns the record in a folder.
func readRecord(dir string) (inForce, error) {
	var out inForce
	text, err := os.ReadFile(filepath.Join(dir, inForceFile)) //nolint:gosec // see Config
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// writeRecord replaces the record in a folder in one step. It is on the disk before: without it the next agent would not know
// what jobs depend on.
func (w fileWriter) writeRecord(dir string, record inForce) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as WriteFiles does
		return err
	}
	return w.writeShared(filepath.Join(dir, inForceFile), File{text, 0o600})
}
