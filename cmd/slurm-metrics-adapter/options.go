package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	liboptions "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd/options"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/kube"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/cmd/internal/telemetry"
	"github.com/slurmtide/slurmtide/metricsapi"
)

// options are the flags.
type options struct {
	kube  kube.Flags
	slurm slurmOptions
	view  viewOptions

	maxAge        time.Duration
	external      bool
	pools         metricsapi.PoolDefaults
	library       *liboptions.CustomMetricsAdapterServerOptions
	shutdownDelay time.Duration

	certSecret, certService, certNamespace string

	metricsAddresses []string
	metricsConfig    string
	metrics          telemetry.Flags

	log lines.Flags
}

const description = `Serves custom.metrics.k8s.io from Slurm's queue, so that a stock
HorizontalPodAutoscaler scales NodeSets to and from zero. It also serves the metrics of
the same snapshots to Prometheus.

It finds Slurm clusters by the Controller and Cluster objects in Kubernetes, or reads
the cluster of --slurm.url. When data is older than --metrics-max-age, HPAs get an
error and never a number.

  slurm-metrics-adapter
  slurm-metrics-adapter --slurm.url=http://slurmrestd:6820 --slurm.token-file=/run/token`

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
	p := flags.New("slurm-metrics-adapter", description)
	o.metricsAPIFlags(p.Group("Metrics for Kubernetes"))
	o.slurm.addFlags(p.Group("Slurm"))
	o.view.addFlags(p.Group("View"))
	o.kube.AddFlags(p.Group("Kubernetes"))
	o.certificateFlags(p.Group("API server"))
	o.libraryFlags(p.Group("API server"))
	o.expositionFlags(p.Group("Metrics for Prometheus"))
	o.log.AddFlags(p.Group("Logs"))
	return p, o
}

func (o *options) metricsAPIFlags(set *pflag.FlagSet) {
	set.DurationVar(&o.maxAge, "metrics-max-age", metricsapi.DefaultMaxAge,
		"Maximum age of data from Slurm. Metrics of older data are errors.")
	set.BoolVar(&o.external, "external-metrics", false, "Also serve external.metrics.k8s.io. Only one adapter in a "+
		"Kubernetes cluster can serve it.")
	set.DurationVar(&o.pools.IdleGrace, "idle-grace", 0, "How long idle nodes count as required, unless an "+
		"annotation of the NodeSet sets it.")
	set.DurationVar(&o.pools.Lead, "reservation-lead", 5*time.Minute,
		"How long before the start of a reservation its nodes count as busy.")
}

func (o *options) certificateFlags(set *pflag.FlagSet) {
	set.StringVar(&o.certSecret, "certificate.secret", "slurm-metrics-adapter-certificate",
		"Secret with the self-signed CA and certificate, which all replicas share. They are created without "+
			"--tls-cert-file.")
	set.StringVar(&o.certService, "certificate.service", "slurm-metrics-adapter",
		"Service through which the API server reaches the adapter. The certificate is issued for its name, and the "+
			"CA is written to the APIServices that refer to it. Replicas expect its name in each other's certificates.")
	set.StringVar(&o.certNamespace, "certificate.namespace", "", "Namespace of both. Default: the pod's namespace.")
}

func (o *options) expositionFlags(set *pflag.FlagSet) {
	set.StringArrayVar(&o.metricsAddresses, "metrics.listen-address", []string{":9341"},
		"Address of /metrics for Prometheus. Repeatable.")
	set.StringVar(&o.metricsConfig, "metrics.config-file", "", "File that enables TLS and authentication of "+
		"/metrics, as for exporters (web.config.file).")
	o.metrics.AddFlags(set, "metrics", " per cluster")
}

// minPollsPerAge is how many poll intervals of jobs must fit into --metrics-max-age. Partitions are
// polled at every fourth interval.
const minPollsPerAge = 5

func (o *options) check() error {
	cert := o.library.SecureServing.ServerCert.CertKey
	switch {
	case o.maxAge < minPollsPerAge*o.slurm.polling.Period:
		return fmt.Errorf("--metrics-max-age must be at least %d times --slurm.poll-interval, since partitions are "+
			"polled less often than jobs", minPollsPerAge)
	case o.pools.IdleGrace < 0 || o.pools.Lead < 0 || o.shutdownDelay < 0:
		return errors.New("--idle-grace, --reservation-lead and --shutdown-delay must not be below 0")
	case (cert.CertFile == "") != (cert.KeyFile == ""):
		return errors.New("a serving certificate needs both --tls-cert-file and --tls-private-key-file")
	}
	for _, check := range []func() error{o.kube.Check, o.view.check, o.slurm.check} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}
