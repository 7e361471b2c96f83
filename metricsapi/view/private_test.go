package view

import "testing"

func TestPrivateOf(t *testing.T) {
	unknown, everything := Private{Jobs: true}, Private{true, true, true}
	said := func(value string) map[string]string {
		return map[string]string{"view.slinky.slurm.net/private-data": value}
	}
	for _, tc := range []struct {
		name string
		give Settings
		want Private
	}{
		{"nothing is known of a slurmrestd that runs elsewhere", Settings{}, unknown},
		{"its annotation says none", Settings{Annotations: said("none")}, Private{}},
		{"its annotation says what slurm.conf does", Settings{Annotations: said("accounts, Jobs,nodes,usage")}, Private{Jobs: true, Nodes: true}},
		{"all", Settings{Annotations: said("all")}, everything},
		{"an annotation that can not be read", Settings{Annotations: said("job")}, everything},
		{"slurm.conf is known and does not set it", Settings{Configured: true, ExtraConf: "MinJobAge=2\n"}, Private{}},
		{"slurm.conf sets it", Settings{Configured: true, ExtraConf: "MinJobAge=2\n privatedata = jobs,partitions # why\n"}, Private{Jobs: true, Partitions: true}},
		{"beside another setting of its line", Settings{Configured: true, ExtraConf: "MinJobAge=2\tPrivateData=\"jobs\" MaxJobCount=5"}, Private{Jobs: true}},
		{"an include behind a tab", Settings{Configured: true, ExtraConf: "include\tmore.conf"}, unknown},
		{"the last line counts", Settings{Configured: true, ExtraConf: "PrivateData=jobs\nPrivateData=nodes"}, Private{Nodes: true}},
		{"a comment sets nothing", Settings{Configured: true, ExtraConf: "#PrivateData=jobs"}, Private{}},
		{"another key that ends so", Settings{Configured: true, ExtraConf: "MyPrivateData=nodes"}, Private{}},
		{"slurm.conf includes what is not known", Settings{Configured: true, ExtraConf: "Include more.conf"}, unknown},
		{"words that there are not", Settings{Configured: true, ExtraConf: "PrivateData=everything"}, everything},
		{"the annotation wins", Settings{Configured: true, ExtraConf: "PrivateData=nodes", Annotations: said("")}, Private{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := PrivateOf(tc.give, unknown); got != tc.want {
				t.Errorf("private are %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestSlurmUser(t *testing.T) {
	for _, tc := range []struct{ name, prefix, kube, want string }{
		{"the same name", "", "alice", "alice"},
		{"behind the prefix", "oidc:", "oidc:alice", "alice"},
		{"without the prefix nobody", "oidc:", "alice", ""},
		{"a service account is nobody", "", "system:serviceaccount:a:alice", ""},
		{"nor is one with the prefix", "system:", "system:serviceaccount:a:alice", ""},
		{"the prefix alone", "oidc:", "oidc:", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := (Users{Prefix: tc.prefix}).slurmUser(tc.kube); got != tc.want {
				t.Errorf("%q is %q in Slurm, want %q", tc.kube, got, tc.want)
			}
		})
	}
}

func TestARecordWithoutAUserIsNobodys(t *testing.T) {
	v := viewer{}
	if v.sees(home("a", "red"), true, func(string) bool { return true }) {
		t.Error("nobody sees a private record")
	}
	if n := jobNoun(); n.mayBeSeen(job(1, 0, of("")), "") {
		t.Error("a job without a user is nobody's own")
	}
}
