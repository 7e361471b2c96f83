package inuse

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
)

// slurmdOptions are the options, by file, that end slurmd if it cannot use their values. Causes are a missing plugin, folder of plugins
// or user, or missing cgroups of its node (measured; docs/development/slurm.md, "What ends jobs", except CertgenType with TLS). The
// trial cannot see that: slurmctld does not load some of these plugins, and its image may have others than workers. It does not read
// PlugStackConfig, and some numbers in SlurmdParameters end only slurmd. With another SlurmdSpoolDir slurmd does not find the running
// steps, and slurmctld requeues their jobs when the node registers.
var slurmdOptions = map[string][]string{
	"slurm.conf": {"TaskPlugin", "ProctrackType", "JobAcctGatherType", "JobContainerType", "NamespaceType",
		"AcctGatherEnergyType", "AcctGatherFilesystemType", "AcctGatherInfinibandType", "AcctGatherInterconnectType",
		"AcctGatherProfileType", "CertgenType", "CertmgrType", "HashPlugin", "NodeFeaturesPlugins", "PluginDir", "PrEpPlugins",
		"PlugStackConfig", "SlurmdParameters", "SlurmdSpoolDir", "SlurmdUser", "SwitchType", "TLSType", "TopologyPlugin"},
	"cgroup.conf": {"CgroupPlugin", "CgroupMountpoint", "CgroupSlice", "ConstrainCores", "ConstrainDevices", "ConstrainRAMSpace",
		"ConstrainSwapSpace", "EnableControllers", "EnableExtraControllers", "IgnoreSystemd", "IgnoreSystemdOnFailure"},
}

// everySlurmd maps options of slurmdOptions to the values that every slurmd can use. An unset option is empty.
var everySlurmd = map[string][]string{"TopologyPlugin": {"", "topology/default", "topology/tree", "topology/block"}}

// switches are the slurmdOptions that are yes or no, and no by default (cgroup.conf(5)).
var switches = []string{"ConstrainCores", "ConstrainDevices", "ConstrainRAMSpace", "ConstrainSwapSpace", "EnableControllers", "IgnoreSystemd",
	"IgnoreSystemdOnFailure"}

// meaningOf returns a value of an option in a way that two values with one meaning share.
func meaningOf(option, value string) string {
	if !slices.Contains(switches, option) {
		return value
	}
	switch strings.ToLower(value) {
	case "", "no", "false", "down", "0":
		return "no"
	case "yes", "true", "up", "1":
		return "yes"
	}
	return value
}

// slurmdFiles are files that may end slurmd at its start. slurmd must be able to create the folders that some of them name. It ends if
// a feature has two programs in the file of node_features/helpers. Some AcctGather plugins require lines in their file
// (acct_gather.conf(5); not measured).
var slurmdFiles = []string{"job_container.conf", "namespace.yaml", "acct_gather.conf", "helpers.conf"}

// changedSlurmdOptions returns, sorted, the changed slurmdOptions and slurmdFiles, and what the configuration of SPANK plugins newly
// requires or includes.
func changedSlurmdOptions(before, after configagent.Files) []string {
	var out []string
	for file, options := range slurmdOptions {
		was, becomes := valuesOf(before, file), valuesOf(after, file)
		for _, option := range options {
			name := strings.ToLower(option)
			if meaningOf(option, was[name]) != meaningOf(option, becomes[name]) && !slices.Contains(everySlurmd[option], becomes[name]) {
				out = append(out, option)
			}
		}
	}
	for _, file := range slurmdFiles {
		if !bytes.Equal(before[file].Content, after[file].Content) {
			out = append(out, file)
		}
	}
	out = append(out, missing(requiredPlugins(after), requiredPlugins(before))...)
	slices.Sort(out)
	return out
}

// valuesOf returns the values of a file by the names of the options in lower case. The last value of an option counts.
func valuesOf(files configagent.Files, file string) map[string]string {
	out := map[string]string{}
	for _, setting := range partition.SettingsOf(files, file) {
		out[strings.ToLower(setting.Name)] = setting.Value
	}
	return out
}

// requiredPlugins returns the lines of plugstack.conf, or of the file that PlugStackConfig names, that require files on the node of
// slurmd. The plugin of such a line must also accept its arguments.
func requiredPlugins(files configagent.Files) []string {
	name := "plugstack.conf"
	if other := valuesOf(files, "slurm.conf")["plugstackconfig"]; other != "" {
		name = path.Base(other)
	}
	var out []string
	for line := range strings.Lines(string(files[name].Content)) {
		words := strings.Fields(line)
		if len(words) > 1 && (words[0] == "required" || words[0] == "include") {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// checkSlurmdOptions returns *configagent.HeldError if slurmds with jobs may end at a reconfigure, and in a pod their jobs with
// them.
func (j Judge) checkSlurmdOptions(ctx context.Context, before, after configagent.Files) error {
	changed := changedSlurmdOptions(before, after)
	if len(before) == 0 || len(changed) == 0 {
		return nil
	}
	what := "it changes " + limitList(changed) + ", and a slurmd that cannot use it, or does not find its steps with it, would end its jobs"
	jobs, err := j.jobs(ctx)
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say which jobs there are: %v", what, err)}
	}
	uses := usesOf(busyNodes(jobs.unfinished), jobs.unfinished, allocatedTo)
	if len(uses) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse,
		Message: what + ": " + describe(uses) + "; it is applied when no node has a job"}
}
