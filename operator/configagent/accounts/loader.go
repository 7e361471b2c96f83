package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// RefusedError reports files that cannot be applied without a change.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// WaitingError reports that slurmdbd is not ready for accounts yet.
type WaitingError struct {
	Reason string
	// IsOfCluster reports that slurmdbd is not ready for the accounts of one cluster; the files of other clusters were tried.
	IsOfCluster bool
}

func (e *WaitingError) Error() string { return e.Reason }

// Loader brings accounts into a database. All fields are required.
type Loader struct {
	// Sacctmgr is the program, and TempDir where files for it are kept.
	Sacctmgr, TempDir string
	// Port returns the port at which slurmdbd listens on this host.
	Port func() (int32, error)
	// User is the name of the user of this program and of slurmdbd, SlurmUser.
	User string
	Log  *slog.Logger
}

// Load tries every file and, unless it is a dry run, applies the accepted ones. It returns one line that lists what changed or would
// change, or nothing. The error is *RefusedError if files cause it, and *WaitingError while slurmdbd or its database does not answer,
// or does not know a cluster.
func (l Loader) Load(ctx context.Context, wanted slurmconf.Accounts) (string, error) {
	dir, err := os.MkdirTemp(l.TempDir, "accounts-")
	if err != nil {
		return "", fmt.Errorf("making a folder for sacctmgr: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	clusters, refused := groupFiles(wanted.Files)
	// An unreadable file may list the objects that would be removed.
	prune := wanted.Prune && len(refused) == 0
	var changes, waits []string
	for _, files := range clusters {
		load := clusterLoad{Loader: l, dir: dir, cluster: files[0].Cluster, files: files, wanted: wanted, prune: prune}
		err := load.run(ctx)
		var waiting *WaitingError
		if errors.As(err, &waiting) && waiting.IsOfCluster {
			waits, err = append(waits, waiting.Reason), nil
		}
		if err != nil {
			return "", err
		}
		changes, refused = append(changes, load.changes...), append(refused, load.refused...)
	}
	if len(refused) > 0 {
		return "", &RefusedError{Truncate(strings.Join(append(refused, waits...), "; "), maxOutput)}
	}
	if len(waits) > 0 {
		return "", &WaitingError{Truncate(strings.Join(append(waits, changes...), "; "), maxOutput), true}
	}
	return Truncate(strings.Join(changes, "; "), maxReason), nil
}

// loopbackOf returns the address at which Slurm's programs reach this host, and reports whether it is IPv6. Slurm finds no address of a
// family if the host has only the loopback in it (docs/development/slurm.md, "IPv6").
func loopbackOf(addresses []net.Addr) (host string, isIPv6 bool) {
	for _, a := range addresses {
		if of, isNet := a.(*net.IPNet); isNet && of.IP.IsGlobalUnicast() {
			if of.IP.To4() != nil {
				return "127.0.0.1", false
			}
			isIPv6 = true
		}
	}
	if isIPv6 {
		return "::1", true
	}
	return "127.0.0.1", false
}

// connect returns a sacctmgr that asks slurmdbd, when slurmdbd knows the cluster and the user of this program.
func (l Loader) connect(ctx context.Context, dir, cluster string) (sacctmgr, error) {
	s := sacctmgr{program: l.Sacctmgr, conf: filepath.Join(dir, "slurm.conf")}
	port, err := l.Port()
	if err != nil {
		return s, &WaitingError{Reason: err.Error()}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return s, fmt.Errorf("reading the addresses of this host: %w", err)
	}
	host, usesIPv6 := loopbackOf(addresses)
	text, err := slurmconf.ClientConf{ClusterName: cluster, SlurmUser: l.User, Hosts: []string{"localhost"}, Port: 6817,
		Accounting: host, AccountingPort: port, UsesIPv6: usesIPv6}.Render()
	if err != nil {
		return s, &RefusedError{err.Error()}
	}
	if err := os.WriteFile(s.conf, []byte(text), 0o600); err != nil {
		return s, fmt.Errorf("writing a slurm.conf for sacctmgr: %w", err)
	}
	clusters, err := s.names(ctx, "cluster", "format=cluster")
	if err != nil {
		return s, waiting(err)
	}
	if !slices.Contains(clusters, cluster) {
		// sacctmgr would make it, also in a trial, and a cluster stays in the database for ever.
		return s, &WaitingError{fmt.Sprintf("slurmdbd does not know cluster %s yet, which its slurmctld registers; "+
			"it knows %s", cluster, strings.Join(append(clusters, "no others"), ", ")), true}
	}
	// A cluster appears a moment before its first account.
	existing, err := s.associations(ctx, cluster)
	if err != nil {
		return s, waiting(err)
	}
	if !slices.Contains(existing, Association{Account: "root"}) {
		return s, &WaitingError{fmt.Sprintf("cluster %s has no account root yet", cluster), true}
	}
	// sacctmgr load asks whether the database knows the user.
	if !slices.Contains(existing, Association{Account: "root", User: l.User}) {
		_, err = s.run(ctx, "-iQ", "add", "user", l.User, "account=root", "cluster="+cluster)
	}
	if err != nil {
		return s, waiting(err)
	}
	return s, nil
}

// faultOf classifies an error of sacctmgr. It returns a *RefusedError that quotes the text if a file causes it, and a *WaitingError if
// slurmdbd does not answer.
func (s sacctmgr) faultOf(ctx context.Context, err error, text string) error {
	var failed *commandError
	if !errors.As(err, &failed) {
		return err
	}
	if _, asking := s.names(ctx, "cluster", "format=cluster"); asking != nil {
		return waiting(asking)
	}
	return &RefusedError{explain(failed.output, text)}
}

// waiting returns the error of a sacctmgr that slurmdbd does not answer.
func waiting(err error) error {
	var failed *commandError
	if errors.As(err, &failed) {
		return &WaitingError{Reason: "slurmdbd does not answer sacctmgr: " + explain(failed.output, "")}
	}
	return err
}
