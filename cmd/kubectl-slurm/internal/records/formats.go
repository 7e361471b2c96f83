package records

import (
	"fmt"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// FormatTime formats a duration as squeue and sinfo do: 0:09, 1:02:03, 1-02:03:04.
func FormatTime(d time.Duration) string {
	s := int64(d / time.Second)
	days, hours, minutes, seconds := s/86400, s/3600%24, s/60%60, s%60
	switch {
	case s < 0:
		return "INVALID"
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, hours, minutes, seconds)
	case hours > 0:
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}

// FormatLimit formats a time limit in minutes as sinfo does; an infinite one is "infinite", and an unset one is "n/a".
func FormatLimit(minutes slurm.Number) string {
	if minutes.IsInfinite() {
		return "infinite"
	}
	n, ok := minutes.Value()
	if !ok {
		return "n/a"
	}
	return FormatTime(time.Duration(n) * time.Minute)
}

// FormatDate formats a time in the local time zone as squeue and sinfo do; an unset time is "N/A".
func FormatDate(t slurm.Time, zone *time.Location) string {
	if !t.IsSet() {
		return "N/A"
	}
	return t.Time().In(zone).Format("2006-01-02T15:04:05")
}

// FormatCount formats a number of nodes as squeue and sinfo do, which divide multiples of 512 from 1024 on: 1000, 1K, 1.50K.
func FormatCount(n uint64) string {
	const divisor = 1024
	if n < divisor || n%(divisor/2) != 0 {
		return strconv.FormatUint(n, 10)
	}
	value, unit := float64(n), 0
	for value >= divisor {
		value, unit = value/divisor, unit+1
	}
	if value == float64(uint64(value)) {
		return fmt.Sprintf("%d%c", uint64(value), " KMGTPE"[unit])
	}
	return fmt.Sprintf("%.2f%c", value, " KMGTPE"[unit])
}
