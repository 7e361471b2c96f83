package configagent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// inForce is the first of the agent's two records: the daemon's files. It is kept in the live folder, with keys, for the next
// agent of the pod.
type inForce struct {
	// Files are the files that the daemon confirmed last, or nil. Before the daemon has started, they are the files of an
	// earlier pod.
	Files Files `json:"files,omitempty"`
	// Given are later files that the daemon received and has not confirmed, or nil. While they are written or taken back, the
	// daemon has either set.
	Given Files `json:"given,omitempty"`
	// Unkept is true if Files could not be kept for other pods yet, or differed from the files of another daemon that served
	// then.
	Unkept bool `json:"unkept,omitempty"`
	// Since is when the daemon confirmed Files.
	Since time.Time `json:"since,omitzero"`
	// HandedOut are the files that the daemon has handed out last, without keys, while it still has to hand out those that it
	// has. They are nil if it has nothing to hand out.
	HandedOut Files `json:"handedOut,omitempty"`
}

// attempt is the second record: the last attempt to give the daemon the wanted files.
type attempt struct {
	// wanted are the files, as the kubelet brought them or as the daemon that serves has them, and revision is their revision.
	wanted   Files
	revision string
	// brought is the revision that the kubelet has brought.
	brought string
	// accepted are the files made of them that Check has accepted, nil if it has not.
	accepted Files
	// err is the reason why they are not in force, or nil.
	err error
	// failures is how often the attempt has failed, and retryAt when it is made again. A zero retryAt after an error means
	// never: the daemon refuses the files.
	failures int
	retryAt  time.Time
	// isGiven is true if the attempt failed after the daemon received the files, so that the files in force are restored.
	isGiven bool
	// awaited is what the daemon has to confirm, since givenAt.
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
	// stepConfirm asks the daemon whether it has read its files.
	stepConfirm
	// stepRestore: give the daemon those in force again.
	stepRestore
)

// retryDelay is the pause before the agent checks again what it waits for.
const retryDelay = 5 * time.Second

// nextStep decides from the two records what to do with the wanted files. files are made from the wanted files, or nil if that
// is impossible. started reports whether the daemon can start.
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

// undoDelay limits how long the files in force are restored before the wanted files are tried again. The kubelet waits up to
// five minutes before it restarts a daemon that ended several times.
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

// inForceFile is the file of the record in the live folder, and of the accepted files' record, without keys, in the accepted
// folder.
const inForceFile = ".in-force"

// loadInForce returns the record in the live folder, and reports whether the daemon can start with the files there.
func loadInForce(live, conf string) (inForce, bool) {
	files, err := ReadFiles(live)
	started := err == nil && files.text(conf) != ""
	out, err := readRecord(live)
	switch {
	case err != nil && started: // an earlier version of this program kept no record
		return inForce{Files: files, Given: files}, true
	case err != nil:
		return inForce{}, false
	case started && out.Given == nil && !files.Equal(out.Files): // another program wrote the files
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

// writeRecord replaces the record in a folder in one step, after the new record is on the disk. Without it the next agent
// would not know what jobs depend on.
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
