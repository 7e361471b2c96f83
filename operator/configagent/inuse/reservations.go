package inuse

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// checkReservations returns *configagent.HeldError if the wanted files remove what reservations need. slurmctld deletes a reservation
// if its partition, all of its nodes or too many licenses are removed, and holds the jobs that wait for it.
func (j Judge) checkReservations(ctx context.Context, before, after conf) error {
	removed := map[string][]string{
		"partition": missing(before.partitions, after.partitions),
		"node":      missing(before.nodeNames(), after.nodeNames()),
		"license":   fewerLicenses(before.licenses, after.licenses),
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
		if thing := r.loses(removed, after.licenses); thing != "" {
			lost = append(lost, fmt.Sprintf("%s (%s)", r.name, thing))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonReservationInUse,
		Message: what + ": " + limitList(lost) + "; it is applied when these reservations have ended, or are changed or deleted"}
}

// reservation lists the resources of a reservation.
type reservation struct {
	name string
	// of are the names, by kind.
	of map[string][]string
	// licenses are the numbers of its licenses.
	licenses map[string]uint64
	// members are its users and groups.
	members []member
	// isActive reports whether it has begun and not ended.
	isActive bool
}

// loses describes the first removed thing that the reservation needs, or returns an empty string. It may need fewer licenses than
// remain.
func (r reservation) loses(removed map[string][]string, remaining map[string]uint64) string {
	for _, kind := range []string{"partition", "node", "license"} {
		for _, name := range removed[kind] {
			if left, has := remaining[name]; kind == "license" && has && r.licenses[name] <= left {
				continue
			}
			if slices.Contains(r.of[kind], name) {
				return kind + " " + name
			}
		}
	}
	return ""
}

// shownOption begins an option of a line of "scontrol --oneliner show reservations" (24.11 and 26.05). Its value may have spaces, as in
// "Groups=domain users,hpc", and ends where the next one begins. The comment, which may look like options, comes after those that are read.
var shownOption = regexp.MustCompile(`(?:^| )(ReservationName|StartTime|EndTime|Duration|Nodes|NodeCnt|CoreCnt|Features|PartitionName|Flags|` +
	`NodeName|CoreIDs|TRES|Users|Groups|Accounts|Licenses|State|BurstBuffer|Watts|AllowedPartitions|QOS|MaxStartDelay|Comment)=`)

// parseReservations returns the reservations that scontrol shows.
func parseReservations(shown string) []reservation {
	var out []reservation
	for line := range strings.Lines(shown) {
		if r := parseReservation(line); r.name != "" {
			out = append(out, r)
		}
	}
	return out
}

// parseReservation returns the reservation of a line. The first of several options with a name counts.
func parseReservation(line string) reservation {
	r, seen := reservation{of: map[string][]string{}}, map[string]bool{}
	options := shownOption.FindAllStringSubmatchIndex(line, -1)
	for i, at := range options {
		end := len(line)
		if i+1 < len(options) {
			end = options[i+1][0]
		}
		name, value := line[at[2]:at[3]], strings.TrimSpace(line[at[1]:end])
		if !seen[name] && value != "" && value != "(null)" {
			r.add(name, value)
		}
		seen[name] = true
	}
	return r
}

// add adds an option that scontrol shows.
func (r *reservation) add(name, value string) {
	switch name {
	case "ReservationName":
		r.name = value
	case "Nodes":
		r.of["node"] = expand(value)
	case "PartitionName", "AllowedPartitions":
		r.of["partition"] = append(r.of["partition"], slurmconf.SplitList(value)...)
	case "Users":
		r.addMembers("passwd", value)
	case "Groups":
		r.addMembers("group", value)
	case "State":
		r.isActive = value == "ACTIVE"
	case "Licenses":
		r.licenses = countLicenses(value)
		r.of["license"] = slices.Sorted(maps.Keys(r.licenses))
	}
}

// fewerLicenses returns the licenses that are removed or fewer, sorted.
func fewerLicenses(before, after map[string]uint64) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(name string) bool {
		left, has := after[name]
		return has && left >= before[name]
	})
}

// isLicenseSeparator reports whether a character ends a license in a list. 26.05 uses | between alternatives.
func isLicenseSeparator(r rune) bool { return strings.ContainsRune(",;|", r) }

// countLicenses returns the numbers in a list such as "matlab:2,ansys@server=1;abaqus". Slurm takes :, * and = for the same, and
// commas and semicolons (config read by 24.11 and 26.05). A number that cannot be read counts as 0: slurmctld does not start with it.
func countLicenses(list string) map[string]uint64 {
	out := map[string]uint64{}
	for _, license := range strings.FieldsFunc(strings.Trim(list, `"'`), isLicenseSeparator) {
		name, count := strings.TrimSpace(license), uint64(1)
		if end := strings.IndexAny(name, ":*="); end >= 0 {
			count, _ = strconv.ParseUint(name[end+1:], 10, 64)
			name = name[:end]
		}
		if name != "" {
			out[name] += count
		}
	}
	return out
}
