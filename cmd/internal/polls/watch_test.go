package polls

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/slurmclient"
)

func TestWatchLogsEachCauseOnce(t *testing.T) {
	refused := &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: "listing",
		Err: errors.New("connection refused")}
	var out bytes.Buffer
	w := newWatcher(lines.New(&out, "info", "logfmt"))
	s := &slurmclient.Snapshot{}
	s.Nodes.Poll = slurmclient.Poll{Resource: slurmclient.Nodes, Err: refused}
	s.Jobs.Poll = slurmclient.Poll{Resource: slurmclient.Jobs, Err: refused}
	w.logChanges(s)
	w.logChanges(s)
	if n := strings.Count(out.String(), "polling fails"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, &out)
	}
	half := *s
	half.Nodes.Err = nil
	w.logChanges(&half)
	if strings.Contains(out.String(), "works again") {
		t.Error("jobs still fail")
	}
	half.Jobs.Err = nil
	w.logChanges(&half)
	if !strings.Contains(out.String(), "polling works again") {
		t.Error("the recovery is not logged")
	}
}

func TestWatchLogsHowJobsAreRead(t *testing.T) {
	var out bytes.Buffer
	w := newWatcher(lines.New(&out, "info", "logfmt"))
	for _, reader := range []slurmclient.JobsReader{"", slurmclient.ReadDelta, slurmclient.ReadDelta,
		slurmclient.ReadList} {
		s := &slurmclient.Snapshot{}
		s.Jobs.Reader = reader
		w.logChanges(s)
	}
	if n := strings.Count(out.String(), "reading jobs"); n != 2 || !strings.Contains(out.String(), "reader=list") {
		t.Errorf("it is logged %d times:\n%s", n, &out)
	}
}

func TestWatchLogsAMissingSlurmdbdOnce(t *testing.T) {
	var out bytes.Buffer
	w := newWatcher(lines.New(&out, "info", "logfmt"))
	s := &slurmclient.Snapshot{}
	w.logChanges(s)
	s.QOS.Absent = true
	w.logChanges(s)
	w.logChanges(s)
	if n := strings.Count(out.String(), "no slurmdbd"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, &out)
	}
}

func TestWatchHintsThatSlurmdbdIsNotServed(t *testing.T) {
	var out bytes.Buffer
	w := newWatcher(lines.New(&out, "info", "logfmt"))
	s := &slurmclient.Snapshot{}
	for _, p := range []*slurmclient.Poll{&s.QOS.Poll, &s.Associations.Poll} {
		p.Err = &slurmclient.Error{Code: slurmclient.CodeUnsupported, Op: "listing", Status: 404}
	}
	s.QOS.Resource, s.Associations.Resource = slurmclient.QOS, slurmclient.Associations
	w.logChanges(s)
	if n := strings.Count(out.String(), "-s slurmctld,slurmdbd"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, &out)
	}
}

// slurmctld accepts the token, but the user lacks the right: the hint must not blame the token.
func TestWatchHintsThatPrivateDataHidesNodes(t *testing.T) {
	var out bytes.Buffer
	w := newWatcher(lines.New(&out, "info", "logfmt"))
	s := &slurmclient.Snapshot{}
	s.Nodes.Poll = slurmclient.Poll{Resource: slurmclient.Nodes, Err: &slurmclient.Error{
		Code: slurmclient.CodeUnauthorized, Op: "listing nodes", Status: 422, Number: 2002,
	}}
	w.logChanges(s)
	if got := out.String(); !strings.Contains(got, "AdminLevel=Operator") || strings.Contains(got, "expired") {
		t.Errorf("the hint does not name PrivateData:\n%s", got)
	}
}
