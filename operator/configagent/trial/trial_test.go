package trial

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

const end = `SlurmctldHost=here
SlurmctldPort=7
SlurmctldPidFile=/t/slurmctld.pid
StateSaveLocation=/t/state
SlurmctldDebug=info
AuthInfo=disable_sack
SlurmdTimeout=0
SuspendTime=-1
`

func TestSlurmConf(t *testing.T) {
	const dbd, none = "AccountingStorageType=accounting_storage/slurmdbd\n", "AccountingStorageType=accounting_storage/none\n"
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", end},
		{"an option", "MailDomain=x\n", "MailDomain=x\n" + end},
		{"what the trial must not have", "SlurmctldHost=a\nSlurmctldHost=b(b.team)\nslurmctldport=6817\n" +
			"AccountingStorageHost=db\nSlurmctldDebug=quiet\nSlurmctldPort+=1\n", end},
		{"plugins that would look for a database", "JobCompType=jobcomp/mysql\nAccountingStorageType=accounting_storage/slurmdbd\n",
			end + "AccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/none\n"},
		{"lines that Slurm cannot read are kept", "SlurmdTimeout=\nSlurmctldHost=a b\n", "SlurmdTimeout=\nSlurmctldHost=a b\n" + end},
		{"other plugins are tried", "JobCompType=jobcomp/mysql\nJobCompType=jobcomp/nothing\n", "\nJobCompType=jobcomp/nothing\n" + end},
		{"lines keep their numbers", "# a\nSlurmctldHost=a\nMailDomain=a\\\nb\n\nhuh\n",
			"\n\nMailDomain=ab\n\n\nhuh\n" + end},
		{"AuthInfo gets another part", "AuthInfo=use_client_ids\n",
			strings.Replace(end, "AuthInfo=", "AuthInfo=use_client_ids,", 1)},
		{"TRES without slurmdbd are tried", "AccountingStorageTRES=gres/gpu\n", "AccountingStorageTRES=gres/gpu\n" + end},
		{"TRES of another plugin are tried", "AccountingStorageTRES=gres/gpu\nAccountingStorageType=accounting_storage/slurmdbdd\n",
			"AccountingStorageTRES=gres/gpu\nAccountingStorageType=accounting_storage/slurmdbdd\n" + end},
		{"TRES of slurmdbd, and those that it does not make", dbd + `accountingstoragetres="GRES/gpu, gres/gpu:h100,license/matlab,bogus/x,gres/,node"`,
			"\n" + `accountingstoragetres="cpu, cpu,cpu,bogus/x,gres/,node"` + "\n" + end + none},
		{"weights of TRES that are listed, and of others", dbd + "AccountingStorageTRES=gres/gpu,fs/lustre\n" +
			"PriorityWeightTRES=CPU=1000,GRES/gpu=3000,gres/gpuutil=1,gres/fpga=2,bogus=2\n" +
			`PartitionName=a TRESBillingWeights="CPU=1.0,GRES/gpu=2.0,fs/lustre=1,license/x=3" AllowAccounts=gres/gpu` + "\n",
			"\nAccountingStorageTRES=cpu,cpu\nPriorityWeightTRES=CPU=1000,cpu=3000,cpu=1,gres/fpga=2,bogus=2\n" +
				`PartitionName=a TRESBillingWeights="CPU=1.0,cpu=2.0,cpu=1,license/x=3" AllowAccounts=gres/gpu` + "\n" + end + none},
		{"weights with another operator", dbd + "AccountingStorageTRES=gres/gpu\nPartitionName=a TRESBillingWeights+=gres/gpu=1\n",
			"\nAccountingStorageTRES=cpu\nPartitionName=a TRESBillingWeights+=cpu=1\n" + end + none},
		{"the last list counts", dbd + "AccountingStorageTRES=gres/gpu\nAccountingStorageTRES=gres/fpga\nPriorityWeightTRES=gres/gpu=1\n",
			"\nAccountingStorageTRES=cpu\nAccountingStorageTRES=cpu\nPriorityWeightTRES=gres/gpu=1\n" + end + none},
		{"a continued last line", "MailDomain=a\\", "MailDomain=a\n" + end},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := SlurmConf(map[string]string{"slurm.conf": tc.text}, Settings{Dir: "/t", Host: "here", Port: 7})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzSlurmConf checks that the trial reads every setting that it does not replace, on its line.
func FuzzSlurmConf(f *testing.F) {
	f.Add("MailDomain=a\\\nb\nPartitionName=x Nodes=ALL # c\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\x00") {
			return
		}
		trial := map[int]string{}
		for _, s := range slurmconf.ParseSettings(SlurmConf(map[string]string{"slurm.conf": text}, Settings{"/t", "here", 7})) {
			trial[s.Line] = s.Text
		}
		tres := readTRES(slurmconf.ParseSettings(text))
		for _, s := range slurmconf.ParseSettings(text) {
			if want := tres.replaceIn(s); !isReplaced(s) && trial[s.Line] != want {
				t.Errorf("line %d is %q, not %q", s.Line, trial[s.Line], want)
			}
		}
	})
}

func TestCheckSlurmConf(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"Prolog=a.sh\nEpilog=/etc/slurm/a.sh\nPrologSlurmctld=/opt/site/x.sh\nEpilog=d/*\nEpilog=*.sh\n", ""},
		{"\nProlog=b.sh\n", "slurm.conf, line 2: Prolog=b.sh: there is no file b.sh"},
		{"epilogslurmctld=/etc/slurm/b.sh\n",
			"slurm.conf, line 1: epilogslurmctld=/etc/slurm/b.sh: there is no file b.sh"},
		{"Include /etc/slurm/port.conf\n", ""},
		{"Include p.conf\n", "p.conf, line 1: Epilog=c.sh: there is no file c.sh"},
		{"\nInc\\\nlude slurm.key\n", "slurm.conf, line 2 must not include slurm.key: only files of spec.configFileRefs can be included"},
		{"Include /nonexistent\n", "slurm.conf, line 1 must not include /nonexistent: only files of spec.configFileRefs can be included"},
	} {
		err := CheckSlurmConf(map[string]string{"slurm.conf": tc.text, "a.sh": "", "p.conf": "Epilog=c.sh",
			"port.conf": "SlurmdTimeout=1"})
		if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
			t.Errorf("of %q the error is %v, not %q", tc.text, err, tc.want)
		}
	}
}

func TestReadLog(t *testing.T) {
	for _, tc := range []struct {
		name, log string
		want      Verdict
		why       string
	}{
		{"nothing yet", "", Undecided, ""},
		{"it starts", "slurmctld: slurmctld version 26.05.5 started on cluster c\n", Undecided, ""},
		{"it serves", "slurmctld: error: Could not open node state file\nslurmctld: Running as primary controller\n",
			Accepted, ""},
		{"an unknown option", "slurmctld: error: _parse_next_key: Parsing error at unrecognized key: Nonsense\n" +
			"slurmctld: error: Parse error in file /etc/slurm/slurm.conf line 3: \"Nonsense=1\"\n" +
			"slurmctld: fatal: Unable to process configuration file\n", Refused,
			"_parse_next_key: Parsing error at unrecognized key: Nonsense; " +
				"Parse error in file /etc/slurm/slurm.conf line 3: \"Nonsense=1\""},
		{"with the time", "[2030-01-01T12:00:00.000] fatal: Invalid node names in partition zz\n", Refused,
			"Invalid node names in partition zz"},
		{"it ends after it has served", "slurmctld: Running as primary controller\nslurmctld: fatal: no\n", Refused, "no"},
		{"a port that somebody else has", "slurmctld: error: Error binding slurm stream socket: Address already in use\n" +
			"slurmctld: fatal: _open_ports: Unable to listen to file descriptors.\n", Impeded,
			"Error binding slurm stream socket: Address already in use; _open_ports: Unable to listen to file descriptors."},
		{"the name of the host does not resolve, with NoCtldInAddrAny", "slurmctld: error: _xgetaddrinfo: getaddrinfo(ctl:21000) " +
			"failed: Name or service not known\nslurmctld: error: slurm_set_addr: Unable to resolve \"ctl\"\n" +
			"slurmctld: error: slurm_set_port: attempting to set port without address family\n" +
			"slurmctld: error: Error creating slurm stream socket: Address family not supported by protocol\n" +
			"slurmctld: fatal: _open_ports: Unable to listen to file descriptors.\n", Impeded,
			"slurm_set_addr: Unable to resolve \"ctl\"; slurm_set_port: attempting to set port without address family; " +
				"Error creating slurm stream socket: Address family not supported by protocol; " +
				"_open_ports: Unable to listen to file descriptors."},
		{"a full disk", "slurmctld: fatal: Incorrect permissions on state save loc: /tmp/trial-1/state\n", Impeded,
			"Incorrect permissions on state save loc: /tmp/trial-1/state"},
		{"no memory", "slurmctld: Running\nslurmctld: fatal: threadpool_create() failed: Resource temporarily unavailable\n",
			Impeded, "threadpool_create() failed: Resource temporarily unavailable"},
		{"no file is left for a plugin", "slurmctld: reading\n" +
			"slurmctld: error: plugin_load_from_file: dlopen(/x.so): /x.so: cannot open shared object file: Too many open files\n" +
			"slurmctld: error: Couldn't load specified plugin name for auth/slurm: Dlopen of plugin file failed\n" +
			"slurmctld: error: cannot create auth context for auth/slurm\nslurmctld: fatal: failed to initialize auth plugin\n",
			Impeded, "plugin_load_from_file: dlopen(/x.so): /x.so: cannot open shared object file: Too many open files; " +
				"Couldn't load specified plugin name for auth/slurm: Dlopen of plugin file failed; " +
				"cannot create auth context for auth/slurm; failed to initialize auth plugin"},
		{"no memory is left for a plugin", "slurmctld: error: dlopen(/x.so): /x.so: failed to map segment from shared object\n" +
			"slurmctld: error: cannot create auth context\nslurmctld: fatal: failed\n", Impeded,
			"dlopen(/x.so): /x.so: failed to map segment from shared object; cannot create auth context; failed"},
		{"an error that the daemon went on after", "slurmctld: error: open(x): Too many open files\nslurmctld: reading\n" +
			"slurmctld: error: bad\nslurmctld: fatal: bad\n", Refused, "open(x): Too many open files; bad"},
		{"a plugin that does not exist, after a name that does not resolve", "slurmctld: error: getaddrinfo(x) failed: " +
			"Name or service not known\nslurmctld: error: no plugin\nslurmctld: fatal: bad\n", Refused,
			"getaddrinfo(x) failed: Name or service not known; no plugin; bad"},
		{"a name that does not resolve, and something else", "slurmctld: error: getaddrinfo(x) failed: Name or service not known\n" +
			"slurmctld: reading\nslurmctld: fatal: bad\n", Refused, "getaddrinfo(x) failed: Name or service not known; bad"},
		{"only that something is wrong", "slurmctld: reading\nslurmctld: fatal: Unable to process configuration file\n",
			Refused, "Unable to process configuration file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, why := Slurmctld().ReadLog(tc.log); got != tc.want || why != tc.why {
				t.Errorf("it is %d, %q", got, why)
			}
		})
	}
	if got := Slurmctld().Explain("slurmctld: cannot stat file /x, retrying\n"); got != "cannot stat file /x, retrying" {
		t.Errorf("of a slurmctld that hangs it is %q", got)
	}
	if got := Slurmctld().Explain(""); got != "slurmctld said nothing" {
		t.Errorf("of nothing it is %q", got)
	}
}

func TestLocate(t *testing.T) {
	const text = "ClusterName=soon\nTreeWidth=5\nPartitionName=a Nodes=ALL MaxTime=soon\nMailDomain=a\n"
	for _, tc := range []struct{ reason, want string }{
		{"Parse error in file /etc/slurm/slurm.conf line 2: x", "Parse error in file /etc/slurm/slurm.conf line 2: x"},
		{`Bad value "soon" for MaxTime`,
			`Bad value "soon" for MaxTime (slurm.conf, line 3: PartitionName=a Nodes=ALL MaxTime=soon)`},
		{"TREEWIDTH value is too small", "TREEWIDTH value is too small (slurm.conf, line 2: TreeWidth=5)"},
		{"something else", "something else"},
	} {
		if got := Locate("slurm.conf", text, tc.reason); got != tc.want {
			t.Errorf("of %q it is %q", tc.reason, got)
		}
	}
}

func TestSlurmdbdConf(t *testing.T) {
	const text = "DbdPort=many\nPurgeJobAfter=soon\nStorageHost=db\nLogFile=/x\nDebugLevel=quiet\nDebugLevel=huh\n\nStoragePass=pw\nLogFile=\n"
	const want = "DbdPort=many\nPurgeJobAfter=soon\nStorageHost=db\n\n\nDebugLevel=huh\n\n\nLogFile=\nDbdPort=7\nPidFile=/t/slurmdbd.pid\nAuthInfo=disable_sack\n" +
		"StorageHost=127.0.0.1\nStoragePort=7\nStoragePass=none\n"
	if diff := cmp.Diff(want, SlurmdbdConf(map[string]string{"slurmdbd.conf": text}, Settings{Dir: "/t", Host: "here", Port: 7})); diff != "" {
		t.Error(diff)
	}
}

// TestLocateNamesNoPassword: a password may be a word of the reason.
func TestLocateNamesNoPassword(t *testing.T) {
	if got := Locate("slurmdbd.conf", "StoragePass=many\n", "StoragePass value many"); got != "StoragePass value many" {
		t.Errorf("it is %q", got)
	}
}

func TestReadLogOfSlurmdbd(t *testing.T) {
	const waits = "slurmdbd: error: mysql_real_connect failed: 2002 Can't connect to server on '127.0.0.1' (115)\n" +
		"slurmdbd: error: The database must be up when starting the MYSQL plugin.  Trying again in 5 seconds.\n"
	if got, why := Slurmdbd().ReadLog(waits); got != Accepted {
		t.Errorf("of one that waits for its database: %d, %q", got, why)
	}
	const refuses = "[2030-01-01T12:00:00.000] error: Invalid purge string 'soon'\n" +
		"[2030-01-01T12:00:00.000] fatal: Bad value \"soon\" for PurgeEventAfter\n"
	got, why := Slurmdbd().ReadLog(refuses)
	const want = `Invalid purge string 'soon'; Bad value "soon" for PurgeEventAfter (slurmdbd.conf, line 2: PurgeEventAfter=soon)`
	if why = Locate("slurmdbd.conf", "DbdPort=1\nPurgeEventAfter=soon\n", why); got != Refused || why != want {
		t.Errorf("of one that refuses: %d, %q", got, why)
	}
}

// TestTrialConfs: options are replaced in included files, too.
func TestTrialConfs(t *testing.T) {
	got := Slurmctld().TrialConfs(map[string]string{"slurm.conf": "Include a.conf\n", "a.conf": "\nSlurmdTimeout=5\nMailDomain=x\nAuthInfo=a\n" +
		"AccountingStorageTRES=gres/gpu\nAccountingStorageType=accounting_storage/slurmdbd\n", "b.conf": ""}, Settings{Dir: "/t", Host: "here", Port: 7})
	want := map[string]string{"a.conf": "\n\nMailDomain=x\n\nAccountingStorageTRES=cpu\n",
		"slurm.conf": "Include a.conf\n" + strings.Replace(end, "AuthInfo=", "AuthInfo=a,", 1) +
			"AccountingStorageType=accounting_storage/none\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestGresTrial: a second trial makes slurmctld read gres.conf, unless it cannot read all of it.
func TestGresTrial(t *testing.T) {
	const node = "NodeName=slurmtide-trial NodeAddr=127.0.0.1 State=CLOUD CPUs=4096\n"
	for _, tc := range []struct {
		name, slurmConf, gresConf string
		// lines are at the end of the slurm.conf of the second trial; empty without such a trial.
		lines string
	}{
		{"no gres.conf", "", "", ""},
		{"an empty gres.conf", "", "# nothing\n", ""},
		{"a gres.conf", "", "AutoDetect=nvml\n", node},
		{"a place for the node", "MaxNodeCount=1\n", "AutoDetect=nvml\n", "MaxNodeCount=60000\n" + node},
		{"another file is included", "", "Include more.conf\n", node},
		{"a file of workers is included", "", "Include /opt/gres.conf\n", ""},
	} {
		files := map[string]string{"slurm.conf": tc.slurmConf, "gres.conf": tc.gresConf, "more.conf": "Name=gpu\n"}
		got := Slurmctld().Trials(files, Settings{Dir: "/t", Host: "here", Port: 7})
		want := []Trial{{map[string]string{"slurm.conf": tc.slurmConf + end}, "slurm.conf"}}
		if tc.lines != "" {
			want = append(want, Trial{map[string]string{"slurm.conf": tc.slurmConf + end + tc.lines}, "gres.conf"})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
	}
	if got := Slurmdbd().Trials(map[string]string{"slurmdbd.conf": "", "gres.conf": "Name=gpu"}, Settings{}); len(got) != 1 {
		t.Errorf("slurmdbd has %d trials", len(got))
	}
}

// TestGresTrialsOfNodes: slurmctld judges the lines of each node as the lines of a trial's node. 26.05 and 24.11 refuse the same
// lines as slurmd.
func TestGresTrialsOfNodes(t *testing.T) {
	lineOf := func(name string) string { return "NodeName=" + name + " NodeAddr=127.0.0.1 State=CLOUD CPUs=4096\n" }
	for _, tc := range []struct {
		name, gresConf, more string
		// nodes are the nodes of each trial, and wantGres and wantMore the files.
		nodes              []string
		wantGres, wantMore string
	}{
		{"one line for several nodes", "Name=nic\n\nNodeName=gpu-[0-7] Name=gpu Count=2 # two\n", "", []string{"slurmtide-trial slurmtide-trial-1"},
			"Name=nic\n\nNodeName=slurmtide-trial-1,gpu-[0-7] Name=gpu Count=2\n", ""},
		{"the same line for each node", "NodeName=a Name=gpu\nname=gpu nodename = \"b\"\n", "", []string{"slurmtide-trial slurmtide-trial-1"},
			"NodeName=slurmtide-trial-1,a Name=gpu\nname=gpu nodename = \"b\"\n", ""},
		{"more lines for one of the nodes", "NodeName=a,b Name=gpu File=/dev/x\nName=gpu nodename = \"b\"\n", "",
			[]string{"slurmtide-trial slurmtide-trial-1 slurmtide-trial-2"},
			"NodeName=slurmtide-trial-1,slurmtide-trial-2,a,b Name=gpu File=/dev/x\nName=gpu nodename = \"slurmtide-trial-2,b\"\n", ""},
		{"another AutoDetect", "AutoDetect=off\nNodeName=a AutoDetect=NVML\nNodeName=b Name=gpu\n", "",
			[]string{"slurmtide-trial slurmtide-trial-2", "slurmtide-trial-1"},
			"AutoDetect=off\nNodeName=slurmtide-trial-1,a AutoDetect=NVML\nNodeName=slurmtide-trial-2,b Name=gpu\n", ""},
		{"in an included file", "Include more.conf\n", "\nNodeName=a Name=gpu\n", []string{"slurmtide-trial slurmtide-trial-1"},
			"", "\nNodeName=slurmtide-trial-1,a Name=gpu\n"},
		{"a list that cannot be read", "NodeName=a[1- Name=gpu\n", "", []string{"slurmtide-trial"}, "", ""},
	} {
		got := Slurmctld().Trials(map[string]string{"slurm.conf": "", "gres.conf": tc.gresConf, "more.conf": tc.more},
			Settings{Dir: "/t", Host: "here", Port: 7})[1:]
		var want []Trial
		for _, nodes := range tc.nodes {
			confs := map[string]string{"slurm.conf": end}
			for name := range strings.FieldsSeq(nodes) {
				confs["slurm.conf"] += lineOf(name)
			}
			for file, text := range map[string]string{"gres.conf": tc.wantGres, "more.conf": tc.wantMore} {
				if text != "" {
					confs[file] = text
				}
			}
			want = append(want, Trial{confs, "gres.conf"})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
	}
}

func TestNoFileIncludesAKey(t *testing.T) {
	files := map[string]string{"slurm.conf": "", "gres.conf": "Name=gpu\nInclude ../slurm/slurm.key\n", "plugstack.conf": "include /x/*\n"}
	const want = "gres.conf, line 2 must not include ../slurm/slurm.key, a key"
	if err := CheckSlurmConf(files); err == nil || err.Error() != want {
		t.Errorf("CheckSlurmConf() = %v, want %s", err, want)
	}
	if err := CheckSlurmdbdConf(map[string]string{"slurmdbd.conf": "include slurm.key"}); err == nil {
		t.Error("slurmdbd.conf includes a key")
	}
}

// TestHideSecrets has messages of real daemons.
func TestHideSecrets(t *testing.T) {
	keys := map[string]string{"slurm.key": "secret one\nsecret two\n", "slurmdbd.conf": "StorageUser=slurm\nStoragePass=a bcd\n",
		"slurm.jwks": `{"keys":[{"alg":"HS256","kid":"a","k":"0123456789abcdefghij"}]}`}
	files := map[string]string{"slurm.conf": "JobCompPass=hush\n"}
	for _, tc := range []struct {
		name, reason string
		hidden       bool
	}{
		{"a line of a key", `Parse error in file /etc/slurm/x line 1: "secret two"`, true},
		{"a part of one", `Parse error in file /etc/slurm/x line 1: "cret t"`, true},
		{"a few bytes of one", `Parse error in file /etc/slurm/slurm.key line 1: "o"`, true},
		{"a password", `Parse error in file /etc/slurm/slurmdbd.conf line 10: " bcd"`, true},
		{"a password of jobcomp/mysql", `Parse error: "hush"`, true},
		{"a key of a set", `failed to parse 3456789abc`, true},
		{"the algorithm of a key set", `unknown algorithm HS256 of keys`, false},
		{"the name of a key", `auth/slurm: key file is insecure: slurm.key mode=0644`, false},
		{"the user of the database", `Access denied for slurm`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := HideSecrets(tc.reason, keys, files); (got == hiddenReason) != tc.hidden || !tc.hidden && got != tc.reason {
				t.Errorf("HideSecrets(%q) = %q", tc.reason, got)
			}
		})
	}
}
