package configagent

import (
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func TestKeysOfSlurmd(t *testing.T) {
	e := newEnv(t)
	e.cfg.Daemon, e.cfg.Check, e.cfg.Confirm = KeysDaemon("slurmd"), CheckKeys, nil
	e.agent = New(e.cfg)
	e.wantFiles("slurm.key", "a")
	checkKeys(t, e, "", "")
	e.wantFiles(append(keySetOf(t, "first*,k2"), "slurm.key", "a")...)
	checkKeys(t, e, "first*,k2", "")
	e.wantFiles(append(keySetOf(t, "first,k2*"), "slurm.key", "a")...)
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
	set := keySetOf(t, "new*")
	e.wantFiles(append(set, "slurm.key", "retired")...)
	for range 2 { // the agent starts again
		e.wantFiles("slurm.key", "retired")
		checkKeys(t, e, "new*", "")
		if live, err := ReadFiles(e.cfg.Live); err != nil || live.text("slurm.jwks") != set[1] {
			t.Errorf("slurmd has the keys %q, %v", live.text("slurm.jwks"), err)
		}
		e.agent = New(e.cfg)
	}
	if len(e.effects) != 0 {
		t.Errorf("slurmd was given its keys %d times again", len(e.effects))
	}
	e.wantFiles(append(keySetOf(t, "new*,newer"), "slurm.key", "retired")...)
	checkKeys(t, e, "new*,newer", "")
}

// TestADamagedKeySetCountsAsADeletedOne: without slurm.jwks slurmd would have only the retired key. With one of these files it would
// end, and its jobs with it.
func TestADamagedKeySetCountsAsADeletedOne(t *testing.T) {
	set := keySetOf(t, "new*")
	const key = `"alg":"HS256","kty":"oct","k":"MDEyMzQ1Njc4OTAxMjM0NTY3ODk"`
	damaged := func(text string) []string { return []string{"slurm.jwks", text, slurmconf.KeySetFile, "new*"} }
	for name, left := range map[string][]string{
		"slurm.jwks is missing":      {slurmconf.KeySetFile, "new*"},
		"slurmtide.keys is missing":  set[:2],
		"slurmtide.keys has no key":  {"slurm.jwks", set[1], slurmconf.KeySetFile, "new"},
		"slurm.jwks is empty":        damaged(""),
		"slurm.jwks is no JSON":      damaged("{"),
		"no keys":                    damaged(`{"keys":[]}`),
		"no list":                    damaged(`{}`),
		"null":                       damaged(`null`),
		"no id":                      damaged(`{"keys":[{` + key + `,"use":"default"}]}`),
		"one id twice":               damaged(`{"keys":[{"kid":"new","use":"default",` + key + `},{"kid":"new",` + key + `}]}`),
		"no content":                 damaged(`{"keys":[{"kid":"new","alg":"HS256","kty":"oct","use":"default"}]}`),
		"an empty content":           damaged(`{"keys":[{"kid":"new","alg":"HS256","kty":"oct","k":"","use":"default"}]}`),
		"two defaults":               damaged(`{"keys":[{"kid":"new","use":"default",` + key + `},{"kid":"b","use":"default",` + key + `}]}`),
		"no default":                 damaged(`{"keys":[{"kid":"new",` + key + `}]}`),
		"another algorithm":          damaged(`{"keys":[{"kid":"new","use":"default","alg":"RS256","kty":"RSA","k":"MDEyMzQ1Ng"}]}`),
		"not that of slurmtide.keys": damaged(`{"keys":[{"kid":"other","use":"default",` + key + `}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.cfg.Daemon, e.cfg.Check, e.cfg.Confirm = KeysDaemon("slurmd"), CheckKeys, nil
			e.agent = New(e.cfg)
			e.wantFiles(append(set, "slurm.key", "retired")...)
			e.wantFiles(append([]string{"slurm.key", "retired"}, left...)...)
			checkKeys(t, e, "new*", "")
			if live, err := ReadFiles(e.cfg.Live); err != nil || live.text("slurm.jwks") != set[1] {
				t.Errorf("slurmd has the keys %q, %v", live.text("slurm.jwks"), err)
			}
			if err := CheckKeys(t.Context(), filesOf(append([]string{"slurm.key", "k"}, left...)...)); err == nil &&
				slices.Contains(left, "slurm.jwks") {
				t.Error("a slurmd that has had no key set is given this one")
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

// TestConfigurationIsAppliedWithoutTheSecretOfTheKeySet: a deleted Secret delays nothing else.
func TestConfigurationIsAppliedWithoutTheSecretOfTheKeySet(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1", keySetOf(t, "new*")...)
	e.want("2", "TreeWidth=2")
	e.check("2", "", "TreeWidth=2")
	checkKeys(t, e, "new*", "")
}

// keySetOf returns slurm.jwks and slurmtide.keys of the keys, by name and content.
func keySetOf(t *testing.T, ids string) []string {
	t.Helper()
	set, err := plan.ParseKeySet(ids)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]byte{}
	for _, id := range set.IDs() {
		keys[id] = []byte("the content of key " + id)
	}
	text, err := keyfile.Encode(set, keys)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"slurm.jwks", string(text), slurmconf.KeySetFile, ids + "\n"}
}

// wantFiles writes the wanted files, given by name and content, and lets the agent look.
func (e *env) wantFiles(files ...string) {
	e.t.Helper()
	if err := WriteFiles(e.cfg.Wanted, filesOf(files...)); err != nil {
		e.t.Fatal(err)
	}
	e.agent.look(e.t.Context())
}

// filesOf returns files that are given by name and content.
func filesOf(files ...string) Files {
	out := Files{}
	for i := 0; i < len(files); i += 2 {
		out[files[i]] = File{[]byte(files[i+1]), 0o400}
	}
	return out
}

func checkKeys(t *testing.T, e *env, keys, problem string) {
	t.Helper()
	if s := e.agent.Status(); s.Keys != keys || s.Error != problem || !e.agent.HasStarted() {
		t.Errorf("the status is %+v, want keys %q and error %q", s, keys, problem)
	}
}
