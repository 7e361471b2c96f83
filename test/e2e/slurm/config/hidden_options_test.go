//go:build e2e

package config

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// hiddenOptions are spellings of a reserved option that slurmctld reads as it.
var hiddenOptions = map[string]string{
	"an added value":   "StateSaveLocation+=/var/spool/x",
	"a removed value":  "StateSaveLocation -=/var/spool/x",
	"a continued line": "State\\\nSaveLocation=/var/spool/x",
	"a continued line, with space behind its end": "MailDomain=a\nState\\ \t\nSaveLocation=/var/spool/x",
	"a backslash in the name":                     "State\\SaveLocation=/var/spool/x",
	"a backslash before the sign":                 "StateSaveLocation\\=/var/spool/x",
}

// TestSlurmctldReadsHiddenOptions: we refuse them, and slurmctld would have its state elsewhere.
func TestSlurmctldReadsHiddenOptions(t *testing.T) {
	forEachReleaseIfLong(t, func(t *testing.T, _ string, tr trial) {
		text, err := tr.slurmConf(func(*slurmconf.SlurmConf) {}).Render()
		if err != nil {
			t.Fatal(err)
		}
		for name, line := range hiddenOptions {
			t.Run(name, func(t *testing.T) {
				if _, err := tr.slurmConf(func(c *slurmconf.SlurmConf) { c.Extra = line }).Render(); err == nil {
					t.Errorf("%q is not refused", line)
				}
				out, err := tr.run(t.Context(), map[string]string{"slurm.conf": text + line + "\n"}, "slurmctld",
					"Running as primary controller", "sh", "-c", "scontrol show config | grep '^StateSaveLocation '")
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(strings.Fields(out), " "); !strings.Contains(got, "StateSaveLocation = /var/spool/x") {
					t.Errorf("slurmctld does not read %q:\n%s", line, out)
				}
			})
		}
	})
}

// secretScript includes a key in each of its arguments, and prints the agent's status and log.
const secretScript = `
printf 'TopSecretWords\nOfThisKeyAlone=1\n' >$D/wanted/words.key; chmod 600 $D/wanted/words.key; chown slurm $D/wanted/words.key
start; isApplied A; number=0
for line; do
  number=$((number + 1)); want k$number "$line
"
  await '*"wanted":"k'$number'","applied":"A"*"error"*' "$line"
done
want A ''; isApplied A
scontrol ping; kill $agent; wait; cat $D/agent.log
`

// TestNoKeyIsInTheStatus: the status of the agent, which any user can read, and its log contain no part of a key.
func TestNoKeyIsInTheStatus(t *testing.T) {
	forEachReleaseIfLong(t, func(t *testing.T, release string, tr trial) {
		out := runBesideAgent(t, tr, secretScript, "Include words.key", "include\t/etc/slurm/words.key", "Include words.\\\nkey",
			"Include ../slurm/words.key", `Include "words.key"`, "Include *.key", "Include slurm.key", "INCLUDE wo\\rds.key",
			"Prolog=words.key", "Include /etc/slurm/accepted/../words.key")
		if strings.Contains(out, "NEVER") || !strings.Contains(out, " is UP") {
			t.Errorf("%s: a key is included", release)
		}
		for _, key := range []string{"TopSecretWords", "OfThisKeyAlone"} {
			for i := range len(key) - 5 {
				if part := key[i : i+6]; strings.Contains(out, part) {
					t.Fatalf("%s: the agent says %q of a key", release, part)
				}
			}
		}
	})
}

// defaultsScript changes the second of two lines with defaults of partitions.
const defaultsScript = `
lines() { echo "PartitionName=DEFAULT MaxTime=5
PartitionName=first Nodes=ALL
PartitionName=DEFAULT MaxTime=$1
PartitionName=second Nodes=ALL
"; }
start; isApplied A
want before "$(lines 10)"; isApplied before
want after "$(lines 20)"; isApplied after
scontrol --oneliner show partition first | grep -o ' MaxTime=[^ ]*'
scontrol --oneliner show partition second | grep -o ' MaxTime=[^ ]*'
kill $agent; wait
`

// TestAChangedSecondDefaultIsApplied: a changed default applies only to the partitions behind it.
func TestAChangedSecondDefaultIsApplied(t *testing.T) {
	forEachReleaseIfLong(t, func(t *testing.T, release string, tr trial) {
		out := runBesideAgent(t, tr, defaultsScript)
		if !strings.Contains(out, " MaxTime=00:05:00\n MaxTime=00:20:00\n") {
			t.Errorf("%s: slurmctld does not have the changed default", release)
		}
	})
}
