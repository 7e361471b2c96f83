package inuse

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// checkReservations returns *configagent.HeldError if the wanted files remove what reservations are made of: slurmctld deletes a
// reservation without its partition, its licenses or all of its nodes, and holds the jobs that wait for it.
func (j Judge) checkReservations(ctx context.Context, before, after conf) error {
	removed := map[string][]string{
		"partition": missing(before.partitions, after.partitions),
		"node":      missing(before.nodeNames(), after.nodeNames()),
		"license":   missing(before.licenses, after.licenses),
	}
	if len(removed["partition"])+len(removed["node"])+len(removed["license"]) == 0 {
		return nil
	}
	const what = "it removes partitions, nodes or licenses of reservations, which slurmctld would delete, and it would hold the jobs " +
		"that wait for them"
	shown, err := j.ask(ctx, "scontrol", "--oneliner", "show", "reservations")
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonReservationInUse,
			Message: fmt.Sprintf("%s, if there are any, which slurmctld does not say: %v", what, err)}
	}
	var lost []string
	for _, r := range parseReservations(shown) {
		for _, kind := range []string{"partition", "node", "license"} {
			if i := slices.IndexFunc(removed[kind], func(name string) bool { return slices.Contains(r.of[kind], name) }); i >= 0 {
				lost = append(lost, fmt.Sprintf("%s (%s %s)", r.name, kind, removed[kind][i]))
				break
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonReservationInUse,
		Message: what + ": " + limitList(lost) + "; it is applied when these reservations have ended, or are changed or deleted"}
}

// reservation is what a reservation is made of, by kind.
type reservation struct {
	name string
	of   map[string][]string
}

// shownReservation is an option of a line of "scontrol --oneliner show reservations".
var shownReservation = regexp.MustCompile(`(ReservationName|Nodes|PartitionName|Licenses)=(\S+)`)

// parseReservations returns the reservations that scontrol shows.
func parseReservations(shown string) []reservation {
	var out []reservation
	for line := range strings.Lines(shown) {
		r := reservation{of: map[string][]string{}}
		for _, option := range shownReservation.FindAllStringSubmatch(line, -1) {
			switch name, value := option[1], option[2]; {
			case value == "(null)":
			case name == "ReservationName":
				r.name = value
			case name == "Nodes":
				r.of["node"] = expand(value)
			case name == "PartitionName":
				r.of["partition"] = []string{value}
			case name == "Licenses":
				r.of["license"] = licenseNames(value)
			}
		}
		if r.name != "" {
			out = append(out, r)
		}
	}
	return out
}

// licenseNames returns the names in a list such as "matlab:2,ansys@server:1".
func licenseNames(list string) []string {
	var out []string
	for _, license := range slurmconf.SplitList(list) {
		name, _, _ := strings.Cut(license, ":")
		name, _, _ = strings.Cut(name, "*")
		out = append(out, name)
	}
	return out
}
