package partition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// TestSetStatesEndsWithSlurmctld: each call of scontrol takes long when slurmctld does not answer, and a cluster may have thousands of
// partitions.
func TestSetStatesEndsWithSlurmctld(t *testing.T) {
	for name, tc := range map[string]struct {
		isAway  bool
		updates int
		want    map[string]string
		err     string
	}{
		"slurmctld refuses two of them":         {false, 4, map[string]string{"a": Down, "d": Down}, "2 partitions"},
		"slurmctld ends before the second call": {true, 2, map[string]string{"a": Down}, "PartitionName=b"},
	} {
		t.Run(name, func(t *testing.T) {
			updates := 0
			p := Programs{Execute: func(_ context.Context, _ string, args ...string) (string, error) {
				switch {
				case args[0] == "update" && (args[1] == "PartitionName=b" || args[1] == "PartitionName=c"):
					updates++
					return "", errors.New("setting " + args[1])
				case args[0] == "update":
					updates++
				case tc.isAway:
					return "", errors.New("unable to contact slurm controller")
				}
				return "", nil
			}}
			got, err := p.SetStates(t.Context(), map[string]string{"a": Down, "b": Down, "c": Down, "d": Down}, nil)
			if !maps.Equal(got, tc.want) || err == nil || !strings.Contains(err.Error(), tc.err) || updates != tc.updates {
				t.Errorf("SetStates sets %v with %d calls, want %v with %d; the error is %v", got, updates, tc.want, tc.updates, err)
			}
		})
	}
}

// TestSetStatesLeavesAloneWhatSomebodyChanges: an administrator drains the last of many partitions while the first ones are set.
func TestSetStatesLeavesAloneWhatSomebodyChanges(t *testing.T) {
	states := map[string]string{}
	for i := range 3 * statesPerRead {
		states[fmt.Sprintf("p%02d", i)] = Up
	}
	wanted, last := map[string]string{}, fmt.Sprintf("p%02d", len(states)-1)
	for name := range states {
		wanted[name] = Down
	}
	from := maps.Clone(states)
	p := Programs{Execute: func(_ context.Context, _ string, args ...string) (string, error) {
		if args[0] == "update" {
			states[strings.TrimPrefix(args[1], "PartitionName=")] = strings.TrimPrefix(args[2], "State=")
			states[last] = Drain
			return "", nil
		}
		var out strings.Builder
		for name, state := range states {
			fmt.Fprintf(&out, "PartitionName=%s AllowGroups=ALL State=%s\n", name, state)
		}
		return out.String(), nil
	}}
	set, err := p.SetStates(t.Context(), wanted, from)
	if err != nil || len(set) != len(wanted)-1 || states[last] != Drain {
		t.Errorf("SetStates sets %d of %d partitions, and the last one is %s; the error is %v", len(set), len(wanted), states[last], err)
	}
}
