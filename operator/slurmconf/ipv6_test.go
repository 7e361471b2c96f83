package slurmconf

import (
	"strings"
	"testing"
)

// TestAddressesOfIPv6: Slurm's programs look them up if Services have them, and the user's setting takes
// precedence.
func TestAddressesOfIPv6(t *testing.T) {
	render := map[string]func(usesIPv6 bool, extra string) (string, error){
		"slurm.conf": func(usesIPv6 bool, extra string) (string, error) {
			return SlurmConf{ClusterName: "c", Hosts: []string{"a"}, UsesIPv6: usesIPv6, Extra: extra}.Render()
		},
		"slurm.conf of a client": func(usesIPv6 bool, extra string) (string, error) {
			return ClientConf{ClusterName: "c", Hosts: []string{"a"}, UsesIPv6: usesIPv6, ServerText: extra}.Render()
		},
		"slurmdbd.conf": func(usesIPv6 bool, extra string) (string, error) {
			return SlurmdbdConf{Host: "a", StorageHost: "b", UsesIPv6: usesIPv6, Extra: extra}.Render()
		},
	}
	for name, of := range render {
		for _, c := range []struct {
			usesIPv6    bool
			extra, want string
		}{
			{false, "", ""},
			{true, "", "CommunicationParameters=EnableIPv6"},
			{true, "communicationparameters=block_null_hash\n", "communicationparameters=block_null_hash"},
			{false, "CommunicationParameters=EnableIPv6\n", "CommunicationParameters=EnableIPv6"},
		} {
			text, err := of(c.usesIPv6, c.extra)
			if err != nil {
				t.Fatal(name, err)
			}
			got := ""
			for line := range strings.Lines(text) {
				if strings.HasPrefix(strings.ToLower(line), "communicationparameters") {
					got += strings.TrimSpace(line)
				}
			}
			if got != c.want {
				t.Errorf("%s, IPv6 %v, with %q: %q, want %q", name, c.usesIPv6, c.extra, got, c.want)
			}
		}
	}
}
