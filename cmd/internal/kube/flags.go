// Package kube has the flags and the configuration of the programs' Kubernetes clients.
package kube

import (
	"errors"
	"fmt"

	"github.com/prometheus/common/version"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags configure the clients.
type Flags struct {
	// ConfigFile is a kubeconfig file; empty means KUBECONFIG or, in a pod, the service account.
	ConfigFile string
	// QPS and Burst bound the rate of requests.
	QPS   float32
	Burst int
}

// AddFlags adds the flags.
func (f *Flags) AddFlags(set *pflag.FlagSet) {
	set.StringVar(&f.ConfigFile, "kube.config", "", "kubeconfig file. Default: KUBECONFIG or, in a pod, the "+
		"service account.")
	set.Float32Var(&f.QPS, "kube.qps", 50, "Maximum average rate of requests to Kubernetes, per second.")
	set.IntVar(&f.Burst, "kube.burst", 100, "Maximum burst of requests to Kubernetes.")
}

// Check returns an error if the rates are not above 0.
func (f *Flags) Check() error {
	if f.QPS <= 0 || f.Burst <= 0 {
		return errors.New("--kube.qps and --kube.burst must be above 0")
	}
	return nil
}

// RESTConfig returns the configuration of the clients of the named program. It sends no request.
func (f *Flags) RESTConfig(program string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.ConfigFile
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding Kubernetes (give --kube.config or KUBECONFIG, or run it in a pod): %w", err)
	}
	cfg.QPS, cfg.Burst = f.QPS, f.Burst
	cfg.UserAgent = program + "/" + version.Version
	return cfg, nil
}
