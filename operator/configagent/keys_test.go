package configagent

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func TestKeysOfSlurmd(t *testing.T) {
	e := newEnv(t)
	e.cfg.Daemon, e.cfg.Check, e.cfg.Confirm = KeysDaemon("slurmd"), CheckKeys, nil
	e.agent = New(e.cfg)
	e.wantFiles("slurm.key", "a")
	checkKeys(t, e, "", "")
	e.wantFiles("slurm.key", "a", "slurm.jwks", `{"keys":[]}`, slurmconf.KeySetFile, "first*,k2\n")
	checkKeys(t, e, "first*,k2", "")
	e.wantFiles("slurm.key", "a", "slurm.jwks", "{", slurmconf.KeySetFile, "first,k2*")
	checkKeys(t, e, "first*,k2", "slurm.jwks is no JSON")
	e.wantFiles("slurm.key", "a", "slurm.jwks", `{"keys":[]}`, slurmconf.KeySetFile, "first,k2*")
	checkKeys(t, e, "first,k2*", "")
	if len(e.effects) != 2 || e.effects[0] != slurmconf.NeedsReconfigure {
		t.Errorf("slurmd was given its keys with %v", e.effects)
	}
	e.agent = New(e.cfg) // the agent starts again
	e.agent.look(t.Context())
	checkKeys(t, e, "first,k2*", "")
	if len(e.effects) != 2 {
		t.Errorf("slurmd has these keys, but got them %d times", len(e.effects))
	}
}

// TestADeletedKeySetBringsBackNoRetiredKey: slurm.key is the key of before the first rotation.
func TestADeletedKeySetBringsBackNoRetiredKey(t *testing.T) {
	e := newEnv(t)
	e.cfg.Daemon, e.cfg.Check, e.cfg.Confirm = KeysDaemon("slurmd"), CheckKeys, nil
	e.agent = New(e.cfg)
	set := `{"keys":["new"]}`
	e.wantFiles("slurm.key", "retired", "slurm.jwks", set, slurmconf.KeySetFile, "new*")
	for range 2 { // the agent starts again
		e.wantFiles("slurm.key", "retired")
		checkKeys(t, e, "new*", "")
		if live, err := ReadFiles(e.cfg.Live); err != nil || live.text("slurm.jwks") != set {
			t.Errorf("slurmd has the keys %q, %v", live.text("slurm.jwks"), err)
		}
		e.agent = New(e.cfg)
	}
	if len(e.effects) != 0 {
		t.Errorf("slurmd was given its keys %d times again", len(e.effects))
	}
	e.wantFiles("slurm.key", "retired", "slurm.jwks", set, slurmconf.KeySetFile, "new*,newer")
	checkKeys(t, e, "new*,newer", "")
}

// TestAKeySetWithoutOneOfItsFiles counts as a deleted one: without slurm.jwks slurmd would have the retired key alone.
func TestAKeySetWithoutOneOfItsFiles(t *testing.T) {
	set := `{"keys":["new"]}`
	for name, left := range map[string][]string{
		"slurm.jwks is missing":     {slurmconf.KeySetFile, "new*"},
		"slurm.jwks is empty":       {"slurm.jwks", "", slurmconf.KeySetFile, "new*"},
		"slurmtide.keys is missing": {"slurm.jwks", set},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.cfg.Daemon, e.cfg.Check, e.cfg.Confirm = KeysDaemon("slurmd"), CheckKeys, nil
			e.agent = New(e.cfg)
			e.wantFiles("slurm.key", "retired", "slurm.jwks", set, slurmconf.KeySetFile, "new*")
			e.wantFiles(append([]string{"slurm.key", "retired"}, left...)...)
			checkKeys(t, e, "new*", "")
			if live, err := ReadFiles(e.cfg.Live); err != nil || live.text("slurm.jwks") != set {
				t.Errorf("slurmd has the keys %q, %v", live.text("slurm.jwks"), err)
			}
		})
	}
	t.Run("slurmd has had none", func(t *testing.T) {
		e := newEnv(t)
		e.cfg.Daemon, e.cfg.Check, e.cfg.Confirm = KeysDaemon("slurmd"), CheckKeys, nil
		e.agent = New(e.cfg)
		e.wantFiles("slurm.key", "retired", slurmconf.KeySetFile, "new*")
		checkKeys(t, e, "", "")
	})
}

// TestConfigurationIsAppliedWithoutTheSecretOfTheKeySet: a deleted Secret holds up nothing else.
func TestConfigurationIsAppliedWithoutTheSecretOfTheKeySet(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1", "slurm.jwks", "set", slurmconf.KeySetFile, "new*")
	e.want("2", "TreeWidth=2")
	e.check("2", "", "TreeWidth=2")
	checkKeys(t, e, "new*", "")
}

// wantFiles writes the wanted files, given by name and content, and lets the agent look.
func (e *env) wantFiles(files ...string) {
	e.t.Helper()
	wanted := Files{}
	for i := 0; i < len(files); i += 2 {
		wanted[files[i]] = File{[]byte(files[i+1]), 0o400}
	}
	if err := WriteFiles(e.cfg.Wanted, wanted); err != nil {
		e.t.Fatal(err)
	}
	e.agent.look(e.t.Context())
}

func checkKeys(t *testing.T, e *env, keys, problem string) {
	t.Helper()
	if s := e.agent.Status(); s.Keys != keys || s.Error != problem || !e.agent.HasStarted() {
		t.Errorf("the status is %+v, want keys %q and error %q", s, keys, problem)
	}
}
