package releases

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"slurm-wlm 26.05.5": "26.05", "slurm 24.11.0-0rc1": "24.11", "25.05": "25.05", "slurm 5.1": "", "": "",
	} {
		got, err := Parse(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("of %q it is %s, %v", text, got, err)
		}
	}
}

// TestFromProtocol has the versions at the start of real slurmctlds' states (docs/development/slurm.md,
// "State and releases"), and the versions of the releases between them.
func TestFromProtocol(t *testing.T) {
	for protocol, want := range map[uint16]string{
		0x2600: "22.05", 0x2700: "23.02", 0x2800: "23.11", 0x2900: "24.05", 0x2a00: "24.11", 0x2b00: "25.05",
		0x2c00: "25.11", 0x2d00: "26.05", 0x2e00: "26.11", 0x2500: "",
	} {
		got, ok := FromProtocol(protocol)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("of %#x it is %s, %v", protocol, got, ok)
		}
		if ok && got.number() != int(protocol>>8) {
			t.Errorf("%s has the number %d, not %d", got, got.number(), protocol>>8)
		}
	}
}

func TestJudgeState(t *testing.T) {
	for _, tc := range []struct {
		slurmctld, state string
		want             StateVerdict
	}{
		{"26.05", "26.05", StateIsOurs},
		{"26.05", "25.11", StateIsOlder},
		{"26.05", "24.11", StateIsOlder},
		{"26.05", "24.05", StateIsTooOld},
		{"24.11", "26.05", StateIsNewer},
		{"24.11", "23.02", StateIsOlder},
		{"24.11", "22.05", StateIsTooOld},
	} {
		slurmctld, err := Parse(tc.slurmctld)
		if err != nil {
			t.Fatal(err)
		}
		state, err := Parse(tc.state)
		if err != nil {
			t.Fatal(err)
		}
		if got := JudgeState(slurmctld, state); got != tc.want {
			t.Errorf("%s with the state of %s: %d, not %d", tc.slurmctld, tc.state, got, tc.want)
		}
	}
}
