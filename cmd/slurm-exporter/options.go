package main

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/cmd/internal/restd"
	"github.com/slurmtide/slurmtide/cmd/internal/telemetry"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// options are the flags.
type options struct {
	server   restd.Server
	keyUser  string
	polling  restd.Polling
	simulate bool

	cluster string
	metrics telemetry.Flags
	web     *web.FlagConfig

	log lines.Flags
}

const description = `Serves the metrics of a Slurm cluster to Prometheus.

It polls slurmrestd (API v0.0.40 to v0.0.45) and serves the last values: scrapes make no
requests to Slurm. When slurmrestd does not respond, the last values stay, slurm_up is 0
and slurm_exporter_snapshot_age_seconds grows.

  slurm-exporter --slurm.url=http://slurmrestd:6820 --slurm.token-file=/run/token
  slurm-exporter --slurm.simulate`

// parseFlags reads the flags. For --help and --version, which it prints, the error is
// flags.ErrPrinted.
func parseFlags(args []string) (*options, error) {
	program, o := newProgram()
	if err := program.Parse(args, os.Stdout); err != nil {
		return nil, err
	}
	return o, o.check()
}

// newProgram returns the program's flags and the options that they set.
func newProgram() (*flags.Program, *options) {
	o := &options{}
	p := flags.New("slurm-exporter", description)
	o.slurmFlags(p.Group("Slurm"))
	o.metricFlags(p.Group("Metrics"))
	o.webFlags(p.Group("HTTP server"))
	o.log.AddFlags(p.Group("Logs"))
	return p, o
}

// webFlags adds the flags that all exporters have in common.
func (o *options) webFlags(set *pflag.FlagSet) {
	o.web = &web.FlagConfig{WebListenAddresses: new([]string), WebSystemdSocket: new(bool), WebConfigFile: new(string)}
	if runtime.GOOS == "linux" {
		set.BoolVar(o.web.WebSystemdSocket, "web.systemd-socket", false, "Use systemd socket activation listeners "+
			"instead of port listeners (Linux only).")
	}
	set.StringArrayVar(o.web.WebListenAddresses, "web.listen-address", []string{":9341"},
		"Addresses on which to expose metrics and web interface. Repeatable for multiple addresses. Examples: "+
			":9100 or [::1]:9100 for http, vsock://:9100 for vsock")
	set.StringVar(o.web.WebConfigFile, "web.config.file", "", "Path to configuration file that can enable TLS or "+
		"authentication. See: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md")
}

func (o *options) slurmFlags(set *pflag.FlagSet) {
	o.server.AddFlags(set, "URL of slurmrestd", "")
	flags.BindEnvironment(set, "slurm.url", "SLURM_URL")
	flags.BindEnvironment(set, "slurm.token-file", "SLURM_JWT_FILE")
	set.StringVar(&o.keyUser, "slurm.jwt-user", "slurm", "User of the minted tokens.")
	o.polling.AddFlags(set, "slurmrestd")
	o.polling.AddSlowFlag(set)
	set.BoolVar(&o.simulate, "slurm.simulate", false, "Serve a simulated cluster that continuously runs jobs.")
}

func (o *options) metricFlags(set *pflag.FlagSet) {
	set.StringVar(&o.cluster, "cluster", "", "Name of the Slurm cluster. Every metric gets it as the label "+
		"cluster, by which dashboards select a cluster.")
	o.metrics.AddFlags(set, "web", "")
}

func (o *options) check() error {
	switch {
	case o.simulate && (o.server.URL != "" && !o.fromEnvironment() || o.server.KeyFile != ""):
		return errors.New("--slurm.simulate cannot be combined with --slurm.url or --slurm.jwt-key-file")
	case !o.simulate && o.server.URL == "":
		return errors.New("no slurmrestd is configured: give --slurm.url=http://HOST:6820, or --slurm.simulate for " +
			"a simulated cluster")
	}
	if err := o.server.Check(); err != nil {
		return err
	}
	return o.polling.Check(time.Second)
}

// fromEnvironment reports whether the URL comes from SLURM_URL.
func (o *options) fromEnvironment() bool { return o.server.URL == os.Getenv("SLURM_URL") }

// token returns the source of tokens, or nil if no token is needed.
func (o *options) token() (slurmclient.TokenSource, error) {
	if o.simulate {
		return slurmclient.TokenFromKey([]byte("a simulated cluster takes any token"), "root", time.Hour, time.Now), nil
	}
	return o.server.Token(o.keyUser, o.polling.Lifetime)
}

func (o *options) cacheConfig(
	resources []slurmclient.Resource, progress func(slurmclient.Resource, int, int),
) slurmclient.CacheConfig {
	cfg := o.polling.CacheConfig()
	cfg.Resources, cfg.Progress = resources, progress
	return cfg
}

func (o *options) exporterConfig(requests *exporter.ClientMetrics, token slurmclient.TokenSource) exporter.Config {
	cfg := o.metrics.ExporterConfig()
	cfg.ClientMetrics = requests
	if o.cluster != "" {
		cfg.Labels = map[string]string{"cluster": o.cluster}
	}
	if token != nil {
		cfg.TokenExpiry = token.Expiry
	}
	return cfg
}
