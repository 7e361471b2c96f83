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
			[]Setting{{"MailDomain", "x.y", "MailDomain = x.y", 1, ""}}},
		{"quotes", `MailDomain="a b"`, []Setting{{"MailDomain", "a b", `MailDomain="a b"`, 1, ""}}},
		{"a hash in quotes is a comment", `MailDomain="a#b"`, []Setting{{"MailDomain", `"a`, `MailDomain="a`, 1, ""}}},
		{"an escaped one is not", `MailDomain=a\#b#c`, []Setting{{"MailDomain", "a#b", `MailDomain=a\#b`, 1, ""}}},
		{"an escaped backslash", `MailDomain=a\\#b`, []Setting{{"MailDomain", `a\`, `MailDomain=a\\`, 1, ""}}},
		{"it does not continue a line", "MailDomain=a\\\\\nTreeWidth=1",
			[]Setting{{"MailDomain", `a\`, `MailDomain=a\\`, 1, ""}, {"TreeWidth", "1", "TreeWidth=1", 2, ""}}},
		{"another escaped character", `MailDomain=a\b`, []Setting{{"MailDomain", "ab", `MailDomain=a\b`, 1, ""}}},
		{"a continued line", "\nMailDomain=a\\\nb\nTreeWidth=1",
			[]Setting{{"MailDomain", "ab", "MailDomain=ab", 2, ""}, {"TreeWidth", "1", "TreeWidth=1", 4, ""}}},
		{"a comment is not continued", "# a\\\nMailDomain=b", []Setting{{"MailDomain", "b", "MailDomain=b", 2, ""}}},
		{"a line that is continued at the end", "MailDomain=a\\", []Setting{{"MailDomain", "a", "MailDomain=a", 1, ""}}},
		{"CRLF", "MailDomain=a\r\nTreeWidth=1\r\n",
			[]Setting{{"MailDomain", "a", "MailDomain=a", 1, ""}, {"TreeWidth", "1", "TreeWidth=1", 2, ""}}},
		{"a record", "PartitionName=p Nodes=a,b Default=YES",
			[]Setting{{"PartitionName", "p", "PartitionName=p Nodes=a,b Default=YES", 1, ""}}},
		{"an include", "include x.conf", []Setting{{"include", "x.conf", "include x.conf", 1, ""}}},
		{"space after a continuation", "MailDomain=a\\ \t\r\nb", []Setting{{"MailDomain", "ab", "MailDomain=ab", 1, ""}}},
		{"a comment after a continuation", "MailDomain=a\\ # c\nb", []Setting{{"MailDomain", "ab", "MailDomain=ab", 1, ""}}},
		{"an escaped space at the end", "MailDomain=a \\ \\\n\nTreeWidth=1", []Setting{{"MailDomain", "a", "MailDomain=a", 1, ""},
			{"TreeWidth", "1", "TreeWidth=1", 3, ""}}},
		{"an operator", "StateSaveLocation+=/x\nMailDomain -= y", []Setting{
			{"StateSaveLocation", "/x", "StateSaveLocation+=/x", 1, ""}, {"MailDomain", "y", "MailDomain -= y", 2, ""}}},
		{"an escaped name", `Slurmctld\Port\=1`, []Setting{{"SlurmctldPort", "1", `Slurmctld\Port\=1`, 1, ""}}},
		{"a continued include", "Inc\\\nlude\tx.conf more", []Setting{{"Include", "x.conf", "Include\tx.conf more", 1, ""}}},
		{"an operator without a value", "StateSaveLocation+=", []Setting{{"StateSaveLocation", "", "StateSaveLocation+=", 1, ""}}},
		{"what Slurm refuses", "huh\nMailDomain=",
			[]Setting{{"huh", "", "huh", 1, ""}, {"MailDomain", "", "MailDomain=", 2, ""}}},
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
		{"a second line of defaults", []string{"TreeWidth=1", "TreeWidth=1\nPartitionName=DEFAULT State=UP\n" +
			"PartitionName=DEFAULT MaxTime=1\nPartitionName=p"}, NeedsReconfigure},
		{"an included file more", []string{"TreeWidth=1", "TreeWidth=1\nInclude a.conf"}, NeedsReconfigure},
		{"an included file that the last line of an option follows", []string{"TreeWidth=1", "Include a.conf\nTreeWidth=1"},
			NeedsReconfigure},
		{"hosts in another order", []string{"SlurmctldHost=a\nSlurmctldHost=b", "SlurmctldHost=b\nSlurmctldHost=a"}, NeedsRestart},
		{"quotes", []string{"TreeWidth=1", `TreeWidth = "1"`}, NoEffect},
		{"an operator", []string{"TreeWidth=1", "TreeWidth+=1"}, NoEffect},
		{"a reserved option with an operator", []string{"TreeWidth=1", "TreeWidth=1\nStateSaveLocation+=/x"}, NeedsRestart},
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

// TestAMovedInclude: the included file may set options that stand before or after it.
func TestAMovedInclude(t *testing.T) {
	if got := CompareSlurmConf("TreeWidth=1\nInclude a.conf\n", "include a.conf\nTreeWidth=1\n"); got != NeedsReconfigure {
		t.Errorf("the effect is %d, want %d", got, NeedsReconfigure)
	}
}

// TestAnotherDefaultPartition: the last one with Default=YES counts.
func TestAnotherDefaultPartition(t *testing.T) {
	const p, q = "PartitionName=p Default=YES\n", "PartitionName=q default=yes\n"
	if got := CompareSlurmConf(p+q, q+p); got != NeedsReconfigure {
		t.Errorf("the effect is %d, want %d", got, NeedsReconfigure)
	}
	if got := CompareSlurmConf(p+"PartitionName=r\n", "PartitionName=r\n"+p); got != NoEffect {
		t.Errorf("the effect of another order is %d, want %d", got, NoEffect)
	}
}

// TestChangedDefaults: a second line of defaults holds for the records after it.
func TestChangedDefaults(t *testing.T) {
	const old = "PartitionName=DEFAULT State=UP\nPartitionName=a\nPartitionName=DEFAULT MaxTime=1\nPartitionName=b\n"
	for _, tc := range []struct {
		name, from, to string
		want           Effect
	}{
		{"the second one", "MaxTime=1", "MaxTime=2", NeedsReconfigure},
		{"the first one", "State=UP", "State=DOWN", NeedsReconfigure},
		{"a record between them moves", "PartitionName=a\nPartitionName=DEFAULT MaxTime=1\n",
			"PartitionName=DEFAULT MaxTime=1\nPartitionName=a\n", NeedsReconfigure},
		{"one line of both", "State=UP\nPartitionName=a", "STATE=\"UP\" \\ \n \nPartitionName=a", NoEffect},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed := strings.Replace(old, tc.from, tc.to, 1)
			if got := CompareSlurmConf(old, changed); got != tc.want || changed == old {
				t.Errorf("the effect is %d, want %d", got, tc.want)
			}
		})
	}
}
