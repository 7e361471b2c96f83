package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/restd"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// slurmOptions configure how Slurm is read.
type slurmOptions struct {
	user         string
	polling      restd.Polling
	lookInterval time.Duration

	// One cluster, instead of the clusters of the objects in Kubernetes.
	server          restd.Server
	namespace, name string
}

func (s *slurmOptions) addFlags(set *pflag.FlagSet) {
	set.StringVar(&s.user, "slurm.user", "slurm", "User of the tokens that are minted with the keys of Controllers "+
		"or with --slurm.jwt-key-file.")
	s.polling.AddFlags(set, "each slurmrestd")
	set.DurationVar(&s.lookInterval, "slurm.look-interval", time.Second,
		"Interval between checks for new jobs, which cost one cheap request each. New jobs trigger a poll at once. "+
			"0 disables the checks.")
	s.polling.AddSlowFlag(set)

	s.server.AddFlags(set, "URL of the only slurmrestd to read, instead of those of Controllers and Clusters",
		"With --slurm.url: ")
	set.StringVar(&s.namespace, "cluster-namespace", "", "With --slurm.url: namespace of the Cluster or Controller "+
		"that this slurmrestd belongs to.")
	set.StringVar(&s.name, "cluster-name", "", "With --slurm.url: name of the Cluster or Controller that this "+
		"slurmrestd belongs to. The NodeSets that refer to this object belong to the cluster. Without a name, all "+
		"NodeSets of all namespaces do.")
}

func (s *slurmOptions) check() error {
	r := &s.server
	clusterFlag := cmp.Or(r.TokenFile, r.KeyFile, r.UserName, r.CAFile, r.CertFile, r.CertKeyFile, s.namespace, s.name)
	switch {
	case r.URL == "" && clusterFlag != "":
		return errors.New("flags for one cluster need --slurm.url: the objects in Kubernetes configure the other " +
			"clusters")
	case (s.namespace == "") != (s.name == ""):
		return errors.New("--cluster-namespace and --cluster-name must be set together")
	case s.lookInterval != 0 && s.lookInterval < time.Second:
		return errors.New("--slurm.look-interval must be 0 or at least 1s")
	}
	if err := r.Check(); err != nil {
		return err
	}
	return s.polling.Check(time.Second)
}

// checkConnection returns an error if the files and the token of the only cluster cannot be used. Later
// errors are retried.
func (s *slurmOptions) checkConnection() error {
	if s.server.URL == "" {
		return nil
	}
	_, _, err := s.connect(nil)
	return err
}

// fixedCluster returns the only cluster, or nil if clusters are found by their objects.
func (s *slurmOptions) fixedCluster() *clusters.FixedCluster {
	if s.server.URL == "" {
		return nil
	}
	return &clusters.FixedCluster{Namespace: s.namespace, Name: s.name}
}

// connect returns a client of the only cluster and its token source.
func (s *slurmOptions) connect(observer slurmclient.Observer) (*slurmclient.Client, slurmclient.TokenSource, error) {
	token, err := s.server.Token(s.user, s.polling.Lifetime)
	if err != nil {
		return nil, nil, err
	}
	client, err := s.server.NewClient(s.polling, token, observer)
	return client, token, err
}
