package slurmrestd

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

//go:embed records/*.json
var recordFiles embed.FS

// writers write the records of one API version.
type writers struct {
	job         *template.Template[*slurmctld.JobRecord]
	node        *template.Template[*slurm.Node]
	partition   *template.Template[*slurm.Partition]
	reservation *template.Template[*slurm.Reservation]
	license     *template.Template[slurm.License]
	share       *template.Template[slurm.Share]
	statistics  *template.Template[statsRecord]
	ping        *template.Template[pingRecord]
	account     *template.Template[slurm.Account]
	association *template.Template[slurm.Association]
	user        *template.Template[slurmctld.UserConf]
	qos         *template.Template[qosRecord]
}

// newWriters compiles the recorded records of a version into templates.
func newWriters(cfg slurmctld.Config, version string) (*writers, error) {
	text, err := recordFiles.ReadFile("records/" + version + ".json")
	if err != nil {
		return nil, fmt.Errorf("reading recorded records: %w", err)
	}
	var recs map[string]json.RawMessage
	if err := json.Unmarshal(text, &recs); err != nil {
		return nil, fmt.Errorf("reading recorded records of %s: %w", version, err)
	}
	c := &recordCompiler{recs: recs, style: styleOf(cfg)}
	w := &writers{
		job:         compileRecord(c, "job", 2, jobFields(cfg, version)),
		node:        compileRecord(c, "node", 2, nodeFields()),
		partition:   compileRecord(c, "partition", 2, partitionFields()),
		reservation: compileRecord(c, "reservation", 2, reservationFields()),
		license:     compileRecord(c, "license", 2, licenseFields()),
		share:       compileRecord(c, "share", 3, shareFields(cfg)),
		statistics: compileRecord(c, "statistics", 1, statsFields(
			compileRecord(c, "rpc_type", 3, rpcFields()), compileRecord(c, "rpc_user", 3, rpcFields()))),
		ping:        compileRecord(c, "ping", 2, pingFields()),
		account:     compileRecord(c, "account", 2, accountFields()),
		association: compileRecord(c, "association", 2, associationFields(version)),
		user:        compileRecord(c, "user", 2, userFields()),
		qos:         compileRecord(c, "qos", 2, qosFields()),
	}
	return w, c.err
}

func styleOf(cfg slurmctld.Config) template.Style {
	if cfg.Compact {
		return template.Compact
	}
	return template.Pretty
}

// recordCompiler compiles records and keeps the first error.
type recordCompiler struct {
	recs  map[string]json.RawMessage
	style template.Style
	err   error
}

func compileRecord[T any](c *recordCompiler, kind string, depth int, fields template.Fields[T]) *template.Template[T] {
	t, err := template.Compile(c.recs[kind], c.style, depth, fields)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("compiling the %s record: %w", kind, err)
	}
	return t
}
