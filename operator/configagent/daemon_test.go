package configagent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestEffectOfIncludedFiles: a reconfigure does not apply some options, wherever they are set.
func TestEffectOfIncludedFiles(t *testing.T) {
	filesOf := func(conf, more string) Files {
		return Files{"slurm.conf": {[]byte(conf), 0o644}, "more.conf": {[]byte(more), 0o644}}
	}
	const include = "ClusterName=c\nInclude more.conf\n"
	before := filesOf(include, "SlurmctldAddr=1.2.3.4\n")
	for _, tc := range []struct {
		name  string
		after Files
		want  slurmconf.Effect
	}{
		{"the same", filesOf("# the cluster\n"+include, "SlurmctldAddr=1.2.3.4\n"), slurmconf.NoEffect},
		{"another address", filesOf(include, "SlurmctldAddr=5.6.7.8\n"), slurmconf.NeedsRestart},
		{"another option", filesOf(include, "SlurmctldAddr=1.2.3.4\nTreeWidth=2\n"), slurmconf.NeedsReconfigure},
		{"the file is not included any more", filesOf("ClusterName=c\n", "SlurmctldAddr=1.2.3.4\n"), slurmconf.NeedsRestart},
		{"the address is in slurm.conf itself", filesOf("ClusterName=c\nSlurmctldAddr=1.2.3.4\n", ""), slurmconf.NeedsReconfigure},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := SlurmctldDaemon().effectOf(before, tc.after); got != tc.want {
				t.Errorf("the effect is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestAssembleJWTKeys(t *testing.T) {
	for _, tc := range []struct {
		name         string
		wanted, want map[string]string
	}{
		{"the user's key", map[string]string{"slurm.conf": "a", "jwt_hs256.key": "user"},
			map[string]string{"slurm.conf": "a", "jwt_hs256.key": "user", "jwks.json": `{"keys":[]}`}},
		{"the user's key set stays as it is", map[string]string{"jwt_hs256.key": "user", "jwks.json": "broken"},
			map[string]string{"jwt_hs256.key": "user", "jwks.json": "broken"}},
		{"a rotation begins", map[string]string{"jwt_hs256.key": "user", "jwt_hs256.rotated.key": "user",
			"jwks.bridge.json": `{"keys":[{"kid":"b"}]}`, "slurmtide.jwt-keys": "first,b"},
			map[string]string{"jwt_hs256.key": "user", "jwks.json": `{"keys":[{"kid":"b"}]}`,
				"slurmtide.jwt-keys": "first,b"}},
		{"beside a user's key set", map[string]string{"jwt_hs256.key": "user", "jwt_hs256.rotated.key": "new",
			"jwks.json": `{"keys": [{"kid":"u"}]}`, "jwks.bridge.json": `{"keys":[{"kid":"b"}]}`},
			map[string]string{"jwt_hs256.key": "new", "jwks.json": `{"keys":[{"kid":"u"},{"kid":"b"}]}`}},
		{"a rotation is over", map[string]string{"jwt_hs256.key": "user", "jwt_hs256.rotated.key": "new",
			"jwks.bridge.json": `{"keys":[]}`}, map[string]string{"jwt_hs256.key": "new", "jwks.json": `{"keys":[]}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wanted := Files{}
			for name, content := range tc.wanted {
				wanted[name] = File{Content: []byte(content)}
			}
			files, err := assembleJWTKeys(wanted)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name := range files {
				got[name] = files.text(name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(wanted) != len(tc.wanted) {
				t.Error("the wanted files were modified")
			}
		})
	}
}

func TestABrokenKeySetIsRefusedInARotation(t *testing.T) {
	_, err := assembleJWTKeys(Files{"jwks.json": {Content: []byte("broken")},
		"jwks.bridge.json": {Content: []byte(`{"keys":[]}`)}})
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("the error is %v", err)
	}
}
