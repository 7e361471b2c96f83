package slurmconf

import (
	"fmt"
	"strconv"
	"strings"
)

// StoragePasswordFile is the file beside slurmdbd.conf with the password of the database. slurm-agent adds it
// as a line to slurmdbd.conf.
const StoragePasswordFile = "storage-password"

// SlurmdbdRunDir has slurmdbd's sack socket and its pid file.
const SlurmdbdRunDir = "/run/slurmdbd"

// SlurmdbdPidFile is the file with the process id of slurmdbd.
const SlurmdbdPidFile = SlurmdbdRunDir + "/slurmdbd.pid"

// SlurmdbdConf is the content of slurmdbd.conf (slurmdbd.conf(5)) for a slurmdbd that the operator
// runs. The text does not contain the password, which AddStoragePassword adds.
type SlurmdbdConf struct {
	// Host is the name of the host on which slurmdbd runs.
	Host string
	// Port is slurmdbd's port.
	Port int32
	// StorageHost and StoragePort are the address of the database server.
	StorageHost string
	StoragePort int32
	// Database and User are the name and the user of the database. Without a user Slurm takes its own.
	Database, User string
	// UsesIPv6 is as in SlurmConf.
	UsesIPv6 bool
	// Extra is the user's text.
	Extra string
}

// Render returns the text of the file, in the order of SlurmConf.Render, and fails for the same
// reasons. StoragePass in the user's text is refused.
func (c SlurmdbdConf) Render() (string, error) {
	var ours []assignment
	set := func(name, value string) {
		if value != "" {
			ours = append(ours, assignment{name: name, value: value})
		}
	}
	set("DbdHost", c.Host)
	set("DbdPort", strconv.Itoa(int(c.Port)))
	set("SlurmUser", "slurm")
	set("AuthType", "auth/slurm")
	set("AuthAltTypes", "auth/jwt")
	set("AuthAltParameters", jwtParameters)
	set("StorageType", "accounting_storage/mysql")
	set("StorageHost", c.StorageHost)
	set("StoragePort", strconv.Itoa(int(c.StoragePort)))
	set("StorageLoc", c.Database)
	set("StorageUser", c.User)
	set("PidFile", SlurmdbdPidFile)
	if c.UsesIPv6 {
		ours = append(ours, enablesIPv6)
	}
	return renderFile(ours, userText{extra: c.Extra,
		reserved: []string{"dbdhost", "dbdport", "slurmuser", "authtype", "storagepass", "pidfile"}})
}

// AddStoragePassword returns a slurmdbd.conf with the password of the database in its last line, so that all
// other lines keep their numbers. If Slurm cannot read the password, it returns an error that does not
// contain the password.
func AddStoragePassword(text, password string) (string, error) {
	line, err := assignment{name: "StoragePass", value: password}.line()
	if err != nil {
		return "", fmt.Errorf("the password of the database: %w", err)
	}
	// The empty line takes a backslash at the end of the text, which would join ours.
	return strings.TrimRight(text, "\n") + "\n\n" + line + "\n", nil
}
