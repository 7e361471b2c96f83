package main

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

func TestALongPollLogsItsProgress(t *testing.T) {
	var out strings.Builder
	o, err := parseFlags([]string{"--slurm.url=http://localhost:1"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	p := newProgress(o.log.Logger(&out), func() time.Time { return now })
	for range 2 { // two polls of ten records, a second each
		for done := range 10 {
			p.update(slurmclient.Jobs, done, 10)
			now = now.Add(time.Second)
		}
	}
	if n := strings.Count(out.String(), "read=5 of=10"); n != 2 || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("the log of two polls is:\n%s", &out)
	}
	for done := range 3 { // a quick poll
		p.update(slurmclient.Jobs, done, 3)
	}
	if strings.Count(out.String(), "\n") != 2 {
		t.Errorf("the log of a quick poll is:\n%s", &out)
	}
}
