package metricsapi

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// newUnavailable returns the error for a number that is currently unknown.
func newUnavailable(cluster string, err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("Slurm cluster %s: %v", cluster, err))
}

// CheckFresh returns an error if a resource has never been read, or was last read more than
// maxAge before now.
func CheckFresh(now time.Time, maxAge time.Duration, polls ...slurmclient.Poll) error {
	for _, p := range polls {
		switch age := p.Age(now); {
		case !p.Known && p.Err == nil:
			return fmt.Errorf("its %s have not been read yet", p.Resource)
		case !p.Known:
			return fmt.Errorf("its %s have never been read: %s", p.Resource, formatOneLine(p.Err))
		case age > maxAge && p.Err == nil:
			return fmt.Errorf("its %s were last read %s ago, which is more than %s", p.Resource, roundAge(age), maxAge)
		case age > maxAge:
			return fmt.Errorf("its %s were last read %s ago, which is more than %s: %s", p.Resource, roundAge(age),
				maxAge,
				formatOneLine(p.Err))
		}
	}
	return nil
}

// roundAge rounds an age for messages, finely enough that an age just above a limit differs
// from the limit.
func roundAge(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// formatOneLine returns an error's text on one line and truncates it, because text of a server
// can be long.
func formatOneLine(err error) string {
	const most = 300
	text := strings.Join(strings.Fields(err.Error()), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
