package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// A starting slurmctld hangs if it has not answered yet and used next to nothing for hangPeriod. Recovery of a large state reads or
// computes for minutes, and a slurmctld under load has answered before.
const (
	hangPeriod = 5 * time.Minute
	// startCPU and startIO are more than the idle threads of a slurmctld use in hangPeriod.
	startCPU = 3 * time.Second
	startIO  = 1 << 20
	// startInterval is the interval of samples of a starting slurmctld.
	startInterval = 10 * time.Second
)

// startSample is an observation of slurmctld at one time.
type startSample struct {
	at time.Time
	// process identifies it.
	process processID
	// answers is true if slurmctld answers a ping.
	answers bool
	// awaitsSlurmdbd is true if slurmdbd is unreachable; slurmctld waits for it at its first start.
	awaitsSlurmdbd bool
	used           processUse
}

// startWatch records since when a starting slurmctld has done nothing. The zero value has no samples.
type startWatch struct {
	process     processID
	hasAnswered bool
	since       time.Time
	used        processUse
}

// isAnswered reports whether a process has answered.
func (w *startWatch) isAnswered(process processID) bool { return w.process == process && w.hasAnswered }

// hangs reports whether a slurmctld hangs that has not answered since its start. Samples must come in the order of their times. Unknown
// values count against a hang.
func (w *startWatch) hangs(s startSample) bool {
	switch {
	case s.process != w.process:
		*w = startWatch{process: s.process, hasAnswered: s.answers, since: s.at, used: s.used}
	case s.answers, w.hasAnswered:
		w.hasAnswered = true
	case s.awaitsSlurmdbd, s.used.cpu-w.used.cpu >= startCPU, s.used.io-w.used.io >= startIO:
		w.since, w.used = s.at, s.used
	case s.at.Sub(w.since) >= hangPeriod:
		*w = startWatch{}
		return true
	}
	return false
}

// WatchStart ends a slurmctld that hangs while it starts, until the context ends. It has accepted nothing, so that nothing
// is lost. proc is where proc(5) is mounted.
func (s Slurmctld) WatchStart(ctx context.Context, proc string) {
	var watch startWatch
	tick := time.NewTicker(startInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		process, used, err := readProcess(s.PidFile, proc)
		if err != nil || watch.isAnswered(process) {
			continue // it does not run, or has started
		}
		sample := startSample{answers: s.answersWatch(ctx), at: time.Now(), process: process, used: used,
			awaitsSlurmdbd: !reachesSlurmdbd(ctx, s.Live)}
		if watch.hangs(sample) && ctx.Err() == nil {
			s.Log.Error("slurmctld hangs while it starts and is ended", "after", hangPeriod)
			if err := s.end(ctx, killDelay); err != nil {
				s.Log.Error("slurmctld is not ended", "err", err)
			}
		}
	}
}

// answersWatch reports whether slurmctld answers. scontrol ping asks one slurmctld after the other, and prints nothing until each has
// answered or taken MessageTimeout: other hung slurmctlds must not make this one look hung.
func (s Slurmctld) answersWatch(ctx context.Context) bool {
	others := time.Duration(len(slurmctldHosts(s.Live)))
	ctx, cancel := context.WithTimeout(ctx, s.Timeout+others*messageTimeout(s.Live))
	defer cancel()
	return s.askForAnswer(ctx) == nil
}

// defaultMessageTimeout is the default of MessageTimeout (slurm.conf(5)).
const defaultMessageTimeout = 10 * time.Second

// messageTimeout returns MessageTimeout in the slurm.conf of a folder.
func messageTimeout(live string) time.Duration {
	conf, err := os.ReadFile(filepath.Join(live, "slurm.conf")) //nolint:gosec // see Slurmctld
	if err != nil {
		return defaultMessageTimeout
	}
	out := defaultMessageTimeout
	for _, setting := range slurmconf.ParseSettings(string(conf)) {
		if seconds, err := strconv.ParseUint(setting.Value, 10, 16); err == nil && strings.EqualFold(setting.Name, "MessageTimeout") {
			out = time.Duration(seconds) * time.Second
		}
	}
	return out
}

// hasSlurmdbd reports whether the slurm.conf in a folder names a slurmdbd.
func hasSlurmdbd(live string) bool {
	conf, err := os.ReadFile(filepath.Join(live, "slurm.conf")) //nolint:gosec // see Slurmctld
	return err == nil && len(slurmdbdAddresses(slurmconf.ParseSettings(string(conf)))) > 0
}

// reachesSlurmdbd reports whether the slurmdbd of the slurm.conf in a folder accepts connections. It also returns true if slurm.conf
// names no slurmdbd.
func reachesSlurmdbd(ctx context.Context, live string) bool {
	conf, err := os.ReadFile(filepath.Join(live, "slurm.conf"))
	return err == nil && ReachesSlurmdbd(ctx, slurmconf.ParseSettings(string(conf)))
}

// ReachesSlurmdbd reports whether the slurmdbd in the settings of slurm.conf, or its backup, accepts connections. It also returns true
// if the settings name no slurmdbd. It blocks for at most dialTimeout for each address.
func ReachesSlurmdbd(ctx context.Context, settings []slurmconf.Setting) bool {
	addresses := slurmdbdAddresses(settings)
	for _, address := range addresses {
		connection, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
		if err == nil && connection.Close() == nil {
			return true
		}
	}
	return len(addresses) == 0
}

// dialTimeout is how long slurmdbd may take to accept a connection.
const dialTimeout = 5 * time.Second

// slurmdbdAddresses returns the addresses of slurmdbd and its backup in the settings.
func slurmdbdAddresses(settings []slurmconf.Setting) []string {
	host, backup, port, kind := "localhost", "", "6819", ""
	for _, setting := range settings {
		switch strings.ToLower(setting.Name) {
		case "accountingstoragetype":
			kind = setting.Value
		case "accountingstoragehost":
			host = setting.Value
		case "accountingstoragebackuphost":
			backup = setting.Value
		case "accountingstorageport":
			port = setting.Value
		}
	}
	switch {
	case filepath.Base(kind) != "slurmdbd":
		return nil
	case backup == "":
		return []string{net.JoinHostPort(host, port)}
	}
	return []string{net.JoinHostPort(host, port), net.JoinHostPort(backup, port)}
}
