package slurmconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Paths in the pods of a cluster.
const (
	// Dir contains slurm.conf, the files that it refers to, and the keys.
	Dir = "/etc/slurm"
	// StateDir is slurmctld's StateSaveLocation.
	StateDir = "/var/spool/slurmctld"
	// RevisionFile is the file beside slurm.conf that names the revision of the configuration.
	RevisionFile = "slurmtide.revision"
	// ForcedRevisionFile names the revision to apply although it ends jobs (package configagent/inuse). It is neither part of
	// the configuration nor of its revision.
	ForcedRevisionFile = "slurmtide.forced-revision"
	// StateFile exists once slurmctld has a state: the first line names the place, the others contain the remedy for a state
	// that is missing there. It is neither part of the configuration nor of its revision.
	StateFile = "slurmtide.state"
	// RegisterAgainFile is the file beside slurmd's keys with the time of the last request to register again.
	RegisterAgainFile = "register-again"
	// KeySetFile is the file beside slurm.jwks with the ids of the keys in it (package operator/rotation/plan). It exists only
	// with slurm.jwks.
	KeySetFile = "slurmtide.keys"
	// RotatedJWTKeyFile replaces JWTKeyFile once that key has been rotated. The keys of BridgeJWKSFile are added to JWKSFile.
	// JWTKeysFile has their ids (package operator/rotation/plan). None of these files exists before the first rotation.
	RotatedJWTKeyFile = "jwt_hs256.rotated.key"
	BridgeJWKSFile    = "jwks.bridge.json"
	JWTKeysFile       = "slurmtide.jwt-keys"
	// RunDir has slurmctld's pid file and its sack socket, which authenticates commands in its container.
	RunDir = "/run/slurmctld"
	// JWTKeyFile and JWKSFile are the keys of auth/jwt.
	JWTKeyFile = "jwt_hs256.key"
	JWKSFile   = "jwks.json"
)

// jwtParameters names the keys of auth/jwt. It always names a key set, where a rotation adds keys (package configagent).
const jwtParameters = "jwt_key=" + Dir + "/" + JWTKeyFile + ",jwks=" + Dir + "/" + JWKSFile

// enablesIPv6 is the line of slurm.conf and slurmdbd.conf for UsesIPv6.
var enablesIPv6 = assignment{name: "CommunicationParameters", value: "EnableIPv6"}

// SlurmConf is the content of slurm.conf (slurm.conf(5)) for a cluster whose slurmctld the operator
// runs.
type SlurmConf struct {
	// ClusterName is the name of the cluster in Slurm.
	ClusterName string
	// Hosts are the names of the hosts on which slurmctld runs, the primary first, each optionally with
	// its address in parentheses. They must resolve.
	Hosts []string
	// Address is the name at which clients find the active slurmctld. If it is empty, they try the
	// addresses of the hosts.
	Address string
	// Port is slurmctld's port, SlurmdPort the port of the slurmds.
	Port, SlurmdPort int32
	// Accounting is the host of slurmdbd, and AccountingPort its port. An empty host means no accounting.
	Accounting     string
	AccountingPort int32
	// UsesIPv6 makes Slurm's programs also look up IPv6 addresses, which they do not do by default (slurm.conf(5),
	// CommunicationParameters). The user's setting takes precedence.
	UsesIPv6 bool
	// HasMetrics makes slurmctld serve metrics. Slurm 24.11 does not know the option.
	HasMetrics bool
	// MaxNodeCount is the maximum number of Slurm nodes, or 0 for the number in slurm.conf.
	MaxNodeCount uint64
	// Prologs, Epilogs, ControllerPrologs and ControllerEpilogs are the names of scripts in Dir. slurmd's scripts are written
	// without a folder, so that configless hands them out.
	Prologs, Epilogs, ControllerPrologs, ControllerEpilogs []string
	// NodeSets are the NodeSets of the cluster.
	NodeSets []NodeSet
	// KnownGRES are the kinds of GRES in force. They stay unless the user lists others, so that the
	// configuration does not wait for jobs with them.
	KnownGRES []string
	// AccountedTRES are the TRES of the previous slurm.conf, which stay.
	AccountedTRES []string
	// Extra is the user's text, and ExtraFiles are the files that it may include, by their names in Dir.
	Extra      string
	ExtraFiles map[string]string
}

// NodeSet is a NodeSet as slurm.conf names it.
type NodeSet struct {
	// Name is the name of the NodeSet, the feature of its Slurm nodes and the name of its partition.
	Name string
	// HasPartition is true if the NodeSet has its own partition, with these options.
	HasPartition     bool
	PartitionOptions string
	// GRES are the generic resources of its Slurm nodes, such as "gpu:h100:4", or empty.
	GRES string
	// HasSSH is true if users can log in to its workers.
	HasSSH bool
}

// Render returns the text of the file. The operator's lines come first, then the user's lines unchanged, then the lists from
// both. The user's options replace ours. It returns an error if Slurm would read a value with another meaning, or if the
// user's lines contradict what the operator's objects depend on.
func (c SlurmConf) Render() (string, error) {
	ours := c.commonAssignments()
	for _, scripts := range []struct {
		option, dir string
		names       []string
	}{
		{"Prolog", "", c.Prologs}, {"Epilog", "", c.Epilogs},
		{"PrologSlurmctld", Dir + "/", c.ControllerPrologs}, {"EpilogSlurmctld", Dir + "/", c.ControllerEpilogs},
	} {
		for _, name := range scripts.names {
			if strings.Contains(name, "/") {
				return "", fmt.Errorf("the script %q must be the name of a file without a folder", name)
			}
			ours = append(ours, assignment{name: scripts.option, value: scripts.dir + name})
		}
	}
	ours = append(ours, c.gresAssignments(ParseFiles(c.ExtraFiles, c.Extra))...)
	for _, n := range c.NodeSets {
		if strings.EqualFold(n.Name, "all") {
			return "", fmt.Errorf("a NodeSet must not be called %s, by which Slurm means all nodes", n.Name)
		}
		ours = append(ours, assignment{name: "NodeSet", value: n.Name, options: "Feature=" + n.Name})
		if n.HasPartition {
			ours = append(ours, assignment{name: "PartitionName", value: n.Name,
				options: strings.TrimSpace("Nodes=" + n.Name + " " + n.PartitionOptions)})
		}
	}
	return renderFile(ours, userText{c.Extra, c.ExtraFiles, []string{"clustername", "slurmctldhost", "slurmctldport",
		"slurmctldpidfile", "slurmdport", "slurmuser", "statesavelocation", "authtype", "credtype"}})
}

// commonAssignments returns the lines that are no records.
func (c SlurmConf) commonAssignments() []assignment {
	var ours []assignment
	set := func(name, value string) { ours = append(ours, assignment{name: name, value: value}) }
	set("ClusterName", c.ClusterName)
	for _, host := range c.Hosts {
		set("SlurmctldHost", host)
	}
	if c.Address != "" {
		set("SlurmctldAddr", c.Address)
	}
	set("SlurmctldPort", strconv.Itoa(int(c.Port)))
	set("SlurmdPort", strconv.Itoa(int(c.SlurmdPort)))
	set("SlurmUser", "slurm")
	set("StateSaveLocation", StateDir)
	set("SlurmctldPidFile", RunDir+"/slurmctld.pid")
	set("SlurmdSpoolDir", "/var/spool/slurmd")
	if c.MaxNodeCount > 0 {
		set("MaxNodeCount", strconv.FormatUint(c.MaxNodeCount, 10))
	}
	set("AuthType", "auth/slurm")
	set("CredType", "cred/slurm")
	set("AuthInfo", "use_client_ids")
	set("AuthAltTypes", "auth/jwt")
	set("AuthAltParameters", jwtParameters)
	set("SlurmctldParameters", "enable_configless")
	// A partition that an administrator has closed stays closed.
	set("ReconfigFlags", "KeepPartState")
	if c.Accounting != "" {
		set("AccountingStorageType", "accounting_storage/slurmdbd")
		set("AccountingStorageHost", c.Accounting)
		set("AccountingStoragePort", strconv.Itoa(int(c.AccountingPort)))
	}
	if slices.ContainsFunc(c.NodeSets, func(n NodeSet) bool { return n.HasSSH }) {
		// pam_slurm_adopt looks for the extern step of a job, and moves sessions into it.
		set("PrologFlags", "Contain")
	}
	if c.UsesIPv6 {
		set(enablesIPv6.name, enablesIPv6.value)
	}
	if len(c.NodeSets) > 0 {
		// Without a RebootProgram, slurmctld refuses scontrol reboot. The operator replaces the worker's pod instead.
		set("RebootProgram", "/bin/true")
	}
	if c.HasMetrics {
		set("MetricsType", "metrics/openmetrics")
	}
	return ours
}
