package main

import (
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/accounts"
)

// newAccountsAgent returns the agent that applies accounts, or nil unless it runs beside slurmdbd.
func (o *options) newAccountsAgent(log *slog.Logger) *configagent.AccountsAgent {
	if o.daemonName != "slurmdbd" {
		return nil
	}
	name := "slurm"
	if own, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		name = own.Username
	}
	loader := accounts.Loader{Sacctmgr: o.sacctmgr, TempDir: o.checker.TempDir, Port: o.slurmdbd.Port, User: name,
		Log: log}
	return configagent.NewAccountsAgent(configagent.AccountsConfig{Wanted: o.wantedDir, Accepted: o.acceptedDir,
		Interval: o.interval, Load: loader.Load, Log: log, Now: time.Now})
}
