package slurmconf

import "strconv"

// SlurmdbdConf is the content of slurmdbd.conf (slurmdbd.conf(5)) for a slurmdbd that the operator
// runs. The text contains the password.
type SlurmdbdConf struct {
	// Host is the name of the host on which slurmdbd runs, and Backup that of a second one, if any.
	Host, Backup string
	// Port is that of slurmdbd.
	Port int32
	// StorageHost and StoragePort are the address of the database server.
	StorageHost string
	StoragePort int32
	// Database, User and Password are those of the database. Without a user Slurm takes its own.
	Database, User, Password string
	// HasJWKS says that JWKSPath holds a key set.
	HasJWKS bool
	// Extra is the user's text.
	Extra string
}

// Render returns the text of the file, in the order of SlurmConf.Render, and fails for the same
// reasons. No error contains the password.
func (c SlurmdbdConf) Render() (string, error) {
	var ours []assignment
	set := func(name, value string) {
		if value != "" {
			ours = append(ours, assignment{name: name, value: value})
		}
	}
	set("DbdHost", c.Host)
	set("DbdBackupHost", c.Backup)
	set("DbdPort", strconv.Itoa(int(c.Port)))
	set("SlurmUser", "slurm")
	set("AuthType", "auth/slurm")
	set("AuthAltTypes", "auth/jwt")
	jwt := "jwt_key=" + JWTKeyPath
	if c.HasJWKS {
		jwt += ",jwks=" + JWKSPath
	}
	set("AuthAltParameters", jwt)
	set("StorageType", "accounting_storage/mysql")
	set("StorageHost", c.StorageHost)
	set("StoragePort", strconv.Itoa(int(c.StoragePort)))
	set("StorageLoc", c.Database)
	set("StorageUser", c.User)
	set("StoragePass", c.Password)
	return renderFile(ours, c.Extra, "dbdhost", "dbdport", "slurmuser", "authtype", "storagepass")
}
