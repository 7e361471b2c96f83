package slurmconf

import (
	"slices"
	"strconv"
	"strings"
)

// ClientConf is the content of a slurm.conf for a program that only asks slurmctld or slurmdbd, such as slurmrestd. It has no
// nodes, partitions or plugins.
type ClientConf struct {
	// ClusterName is the name of the cluster in Slurm.
	ClusterName string
	// SlurmUser is the user of slurmctld and slurmdbd. Only sacctmgr needs it, which lets this user do everything.
	SlurmUser string
	// Hosts are the values of SlurmctldHost, and Port is slurmctld's port.
	Hosts []string
	Port  int32
	// Accounting is the host of slurmdbd, and AccountingPort its port. An empty host means no accounting.
	Accounting     string
	AccountingPort int32
	// UsesIPv6 is as in SlurmConf.
	UsesIPv6 bool
	// ServerText is text of the server's configuration. The client gets its sharedOptions. ServerFiles are the files that it
	// may include, by name.
	ServerText  string
	ServerFiles map[string]string
}

// sharedOptions are the options of slurm.conf, in lower case, that a client must share with slurmctld, or that set how long it
// waits (docs/development/slurm.md, "What a client needs of slurm.conf"). Daemons without their own slurm.conf get all options
// from slurmctld.
var sharedOptions = []string{"communicationparameters", "messagetimeout", "tcptimeout", "slurmctldtimeout", "hashplugin",
	"tlstype", "tlsparameters", "accountingstoragehost", "accountingstorageport", "accountingstoragebackuphost"}

// sharedLines returns the lines with the sharedOptions of a text and of the files that it includes. Slurm takes the last value
// of an option.
func sharedLines(files map[string]string, text string) (string, error) {
	last := map[string]assignment{}
	for _, s := range ParseFiles(files, text) {
		if name := strings.ToLower(s.Name); slices.Contains(sharedOptions, name) && s.Value != "" {
			last[name] = assignment{name: s.Name, value: s.Value}
		}
	}
	var out strings.Builder
	for _, name := range sharedOptions {
		if a, has := last[name]; has {
			line, err := a.line()
			if err != nil {
				return "", err
			}
			out.WriteString(line + "\n")
		}
	}
	return out.String(), nil
}

// Render returns the text of the file. It returns an error if Slurm would read a value with another meaning.
func (c ClientConf) Render() (string, error) {
	ours := []assignment{{name: "ClusterName", value: c.ClusterName}}
	if c.SlurmUser != "" {
		ours = append(ours, assignment{name: "SlurmUser", value: c.SlurmUser})
	}
	for _, host := range c.Hosts {
		ours = append(ours, assignment{name: "SlurmctldHost", value: host})
	}
	ours = append(ours, assignment{name: "SlurmctldPort", value: strconv.Itoa(int(c.Port))},
		assignment{name: "AuthType", value: "auth/slurm"}, assignment{name: "CredType", value: "cred/slurm"},
		assignment{name: "AuthAltTypes", value: "auth/jwt"})
	if c.Accounting != "" {
		ours = append(ours, assignment{name: "AccountingStorageType", value: "accounting_storage/slurmdbd"},
			assignment{name: "AccountingStorageHost", value: c.Accounting},
			assignment{name: "AccountingStoragePort", value: strconv.Itoa(int(c.AccountingPort))})
	}
	if c.UsesIPv6 {
		ours = append(ours, enablesIPv6)
	}
	shared, err := sharedLines(c.ServerFiles, c.ServerText)
	if err != nil {
		return "", err
	}
	return renderFile(ours, userText{extra: shared})
}
