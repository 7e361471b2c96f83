// Command kube is etcd and the stock Kubernetes programs in one binary, for
// development and tests. It runs the program that it is called as (through a
// link of that name) or that its first argument names.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// Time zones, so that CronJobs work where the host has no zone files.
	_ "time/tzdata"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// What each program's own main package links in besides its command.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// programs returns, by name, functions that run a program on os.Args and
// return its exit code.
func programs() map[string]func() int {
	return map[string]func() int{
		"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kube-proxy":              func() int { return cli.Run(proxy.NewProxyCommand()) },
		"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
		"kubectl":                 func() int { return runKubectl(kubectl.NewDefaultKubectlCommand()) },
	}
}

// runKubectl leaves the printing of errors to kubectl, which exits by itself.
func runKubectl(command *cobra.Command) int {
	if err := cli.RunNoErrOutput(command); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func main() {
	known := programs()
	if run, ok := known[filepath.Base(os.Args[0])]; ok {
		os.Exit(run())
	}
	if len(os.Args) > 1 {
		if run, ok := known[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	names := slices.Sorted(maps.Keys(known))
	fmt.Fprintf(os.Stderr, "usage: kube %s [flags]\n", strings.Join(names, "|"))
	os.Exit(2)
}
