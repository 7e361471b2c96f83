package metricsapi

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// unavailable is the answer when a number can not be told now.
func unavailable(cluster string, err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("Slurm cluster %s: %v", cluster, err))
}

// Stale returns why the polls are of no use at now, nil when they are of use. Every
// resource must have been read, and none longer ago than maxAge.
func Stale(now time.Time, maxAge time.Duration, polls ...slurmclient.Poll) error {
	for _, p := range polls {
		switch age := p.Age(now); {
		case !p.Known && p.Err == nil:
			return fmt.Errorf("its %s have not been read yet", p.Resource)
		case !p.Known:
			return fmt.Errorf("its %s have never been read: %s", p.Resource, oneLine(p.Err))
		case age > maxAge && p.Err == nil:
			return fmt.Errorf("its %s were last read %s ago, which is more than %s", p.Resource, short(age), maxAge)
		case age > maxAge:
			return fmt.Errorf("its %s were last read %s ago, which is more than %s: %s", p.Resource, short(age), maxAge, oneLine(p.Err))
		}
	}
	return nil
}

// short is a time for people. One that is just above a limit does not read as the limit.
func short(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// oneLine keeps what a server sent from filling events and log lines.
func oneLine(err error) string {
	const most = 300
	text := strings.Join(strings.Fields(err.Error()), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
