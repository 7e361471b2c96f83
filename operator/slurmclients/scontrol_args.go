package slurmclients

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// The arguments come from objects that users write. They never pass through a shell; still, each
// word must be exactly one option.
const (
	nodeNamePattern         = `^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`
	nodeOptionPattern       = `^[A-Za-z]+=[A-Za-z0-9_.,:/()*\[\]@+-]+$`
	reservationValuePattern = `^[A-Za-z0-9][A-Za-z0-9_.:/,@\[\]+-]*$`
)

func matchesPattern(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

func invalidError(op, format string, args ...any) error {
	return &slurmclient.Error{Code: slurmclient.CodeInvalid, Op: op, Message: fmt.Sprintf(format, args...)}
}

// scontrolNodeArgs returns the names, and the words of their line in slurm.conf.
func scontrolNodeArgs(names, options string) (all, words []string, err error) {
	const op = "creating nodes"
	all, err = hostlist.Expand(names)
	if err != nil || len(all) == 0 {
		return nil, nil, invalidError(op, "%q is not a list of names", names)
	}
	valid := regexp.MustCompile(nodeNamePattern)
	for _, name := range all {
		if !valid.MatchString(name) {
			return nil, nil, invalidError(op, "%q is not a valid name of a Slurm node", name)
		}
	}
	words = []string{"NodeName=" + hostlist.Compress(all)}
	for word := range strings.FieldsSeq(options) {
		key, _, _ := strings.Cut(word, "=")
		if !matchesPattern(nodeOptionPattern, word) || strings.EqualFold(key, "NodeName") {
			return nil, nil, invalidError(op, "%q is not a valid option of a Slurm node", word)
		}
		words = append(words, word)
	}
	return all, words, nil
}

func joinWords(words []string) string { return strings.Join(words, " ") }

// scontrolReservationArgs returns the arguments of scontrol that create a reservation.
func scontrolReservationArgs(r slurm.ReservationRequest) ([]string, error) {
	words := []string{"ReservationName=" + r.Name}
	add := func(name, value string) {
		if value != "" {
			words = append(words, name+"="+value)
		}
	}
	add("StartTime", formatScontrolTime(r.StartTime))
	add("EndTime", formatScontrolTime(r.EndTime))
	if minutes, ok := r.Duration.Value(); ok {
		add("Duration", fmt.Sprint(minutes))
	} else if r.Duration.IsInfinite() {
		add("Duration", "UNLIMITED")
	}
	add("Nodes", strings.Join(r.Nodes, ","))
	if n, ok := r.NodeCount.Value(); ok {
		add("NodeCnt", fmt.Sprint(n))
	}
	add("Users", strings.Join(r.Users, ","))
	add("Accounts", strings.Join(r.Accounts, ","))
	add("PartitionName", r.Partition)
	add("Licenses", r.Licenses)
	add("Flags", strings.Join(r.Flags, ","))
	for _, word := range words {
		if _, value, _ := strings.Cut(word, "="); !matchesPattern(reservationValuePattern, value) {
			return nil, invalidError("setting a reservation", "%q is not a valid option of a reservation", word)
		}
	}
	return words, nil
}

// formatScontrolTime formats a time for scontrol: in whole seconds since 1970, which does not
// depend on the time zone of slurmctld.
func formatScontrolTime(t slurm.Time) string {
	if !t.IsSet() {
		return ""
	}
	return "uts" + fmt.Sprint(t.Time().Truncate(time.Second).Unix())
}
