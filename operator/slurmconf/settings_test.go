package slurmconf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSettings(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Setting
	}{
		{"nothing", "\n# a comment\n  \t\n", nil},
		{"an option, its case kept", "MailDomain = x.y # a comment\n",
			[]Setting{{"MailDomain", "x.y", "MailDomain = x.y", 1}}},
		{"quotes", `MailDomain="a b"`, []Setting{{"MailDomain", "a b", `MailDomain="a b"`, 1}}},
		{"a hash in quotes is a comment", `MailDomain="a#b"`, []Setting{{"MailDomain", "a", `MailDomain="a`, 1}}},
		{"an escaped one is not", `MailDomain=a\#b#c`, []Setting{{"MailDomain", "a#b", `MailDomain=a\#b`, 1}}},
		{"an escaped backslash", `MailDomain=a\\#b`, []Setting{{"MailDomain", `a\`, `MailDomain=a\\`, 1}}},
		{"it does not continue a line", "MailDomain=a\\\\\nTreeWidth=1",
			[]Setting{{"MailDomain", `a\`, `MailDomain=a\\`, 1}, {"TreeWidth", "1", "TreeWidth=1", 2}}},
		{"another escaped character", `MailDomain=a\b`, []Setting{{"MailDomain", "ab", `MailDomain=a\b`, 1}}},
		{"a continued line", "\nMailDomain=a\\\nb\nTreeWidth=1",
			[]Setting{{"MailDomain", "ab", "MailDomain=ab", 2}, {"TreeWidth", "1", "TreeWidth=1", 4}}},
		{"a comment is not continued", "# a\\\nMailDomain=b", []Setting{{"MailDomain", "b", "MailDomain=b", 2}}},
		{"a line that is continued at the end", "MailDomain=a\\", []Setting{{"MailDomain", "a", "MailDomain=a", 1}}},
		{"CRLF", "MailDomain=a\r\nTreeWidth=1\r\n",
			[]Setting{{"MailDomain", "a", "MailDomain=a", 1}, {"TreeWidth", "1", "TreeWidth=1", 2}}},
		{"a record", "PartitionName=p Nodes=a,b Default=YES",
			[]Setting{{"PartitionName", "p", "PartitionName=p Nodes=a,b Default=YES", 1}}},
		{"an include", "include x.conf", []Setting{{"include", "x.conf", "include x.conf", 1}}},
		{"what Slurm refuses", "huh\nMailDomain=",
			[]Setting{{"huh", "", "huh", 1}, {"MailDomain", "", "MailDomain=", 2}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseSettings(tc.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompareSlurmConf(t *testing.T) {
	const old = "ClusterName=c\nSlurmctldHost=a\nSlurmctldHost=b\nTreeWidth=1\nNodeSet=n Feature=n\n"
	for _, tc := range []struct {
		name    string
		replace []string
		want    Effect
	}{
		{"nothing", []string{"", ""}, NoEffect},
		{"comments, space and case", []string{"TreeWidth=1", "# width\n  treewidth = 1 # narrow"}, NoEffect},
		{"an earlier value that does not count", []string{"TreeWidth=1", "TreeWidth=9\nTreeWidth=1"}, NoEffect},
		{"a later record that does not count", []string{"Feature=n\n", "Feature=n\nNodeSet=n Feature=x\n"}, NoEffect},
		{"an option", []string{"TreeWidth=1", "TreeWidth=2"}, NeedsReconfigure},
		{"an option less", []string{"TreeWidth=1\n", ""}, NeedsReconfigure},
		{"a record", []string{"Feature=n", "Feature=m"}, NeedsReconfigure},
		{"a record more", []string{"NodeSet=n", "NodeSet=m Feature=m\nNodeSet=n"}, NeedsReconfigure},
		{"a host less", []string{"SlurmctldHost=b\n", ""}, NeedsRestart},
		{"another port and an option", []string{"TreeWidth=1", "TreeWidth=2\nSlurmctldPort=1"}, NeedsRestart},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed := strings.Replace(old, tc.replace[0], tc.replace[1], 1)
			for _, pair := range [][2]string{{old, changed}, {changed, old}} {
				if got := CompareSlurmConf(pair[0], pair[1]); got != tc.want {
					t.Errorf("the effect is %d, not %d", got, tc.want)
				}
			}
		})
	}
}
