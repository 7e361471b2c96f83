package slurmconf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPartitions has slurmctld's output for each text (scontrol show partition).
func TestPartitions(t *testing.T) {
	for _, tc := range []struct{ name, text, state string }{
		{"no state", "PartitionName=p Nodes=a", "UP"},
		{"a state in lower case", "partitionname=p state=drain", "DRAIN"},
		{"a line of defaults", "PartitionName=DEFAULT State=DOWN\nPartitionName=p", "DOWN"},
		{"quoted defaults", "PartitionName=\"DEFAULT\" State=\"DOWN\"\nPartitionName=p", "DOWN"},
		{"a second line of defaults keeps what it does not set",
			"PartitionName=DEFAULT State=DOWN\nPartitionName=DEFAULT MaxTime=5\nPartitionName=p", "DOWN"},
		{"defaults that come later", "PartitionName=p\nPartitionName=DEFAULT State=DOWN", "UP"},
		{"a continued line", "PartitionName=p Nodes=a \\ # c\n State=INACTIVE", "INACTIVE"},
		{"an operator", "PartitionName += p Nodes=a State -= DOWN", "DOWN"},
		{"the last state counts", "PartitionName=p State=DOWN State=UP", "UP"},
		{"escapes", `PartitionName=p S\tate\=DO\WN`, "DOWN"},
		{"a state in a comment", "PartitionName=p # State=DOWN", "UP"},
		{"a state in quotes of another option", `PartitionName=p Comment="x State=DOWN"`, "UP"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Partitions(tc.text)
			if len(got) != 1 || got[0].Name != "p" || got[0].State != tc.state {
				t.Errorf("Partitions(%q) = %v, want p in state %s", tc.text, got, tc.state)
			}
		})
	}
	if got := Partitions("PartitionName=DEFAULT nodes=\"a b\"\nPartitionName=p")[0].Value("Nodes"); got != "a b" {
		t.Errorf("Value(Nodes) = %q, want that of the line of defaults", got)
	}
}

func TestPartitionsOfIncludedFiles(t *testing.T) {
	settings := ParseFiles(map[string]string{"p.conf": "PartitionName=a\nPartitionName=DEFAULT State=DOWN\n"},
		"Include /etc/slurm/./p.conf\nPartitionName=b\n")
	var got []string
	for _, p := range PartitionsOf(settings) {
		got = append(got, p.Name+" "+p.State)
	}
	if diff := cmp.Diff([]string{"a UP", "b DOWN"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPartitionStates: slurmctld reads only the beginning of a word (measured on 26.05).
func TestPartitionStates(t *testing.T) {
	for value, want := range map[string]string{"Drained": "DRAIN", "DOWN*": "DOWN", "Upper": "UP", "inactives": "INACTIVE", `"down"`: "DOWN", "odd": "ODD"} {
		if got := Partitions("PartitionName=a State=" + value)[0].State; got != want {
			t.Errorf("State=%s is read as %s, want %s", value, got, want)
		}
	}
}
