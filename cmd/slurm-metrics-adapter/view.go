package main

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/version"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver"
	basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	coreapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/core"
	customapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/custommetrics"
	externalapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/externalmetrics"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/metricsapi/view"
	viewapi "github.com/slurmtide/slurmtide/metricsapi/view/openapi"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// viewOptions configure the view of Slurm as Kubernetes objects.
type viewOptions struct {
	enabled     bool
	privateData string
	userPrefix  string
	namespace   string
	peers       []string
	actions     bool
}

func (v *viewOptions) addFlags(set *pflag.FlagSet) {
	set.BoolVar(&v.enabled, "view", true, "Serve view.slinky.slurm.net: Slurm's jobs, nodes and partitions as "+
		"read-only objects.")
	set.StringVar(&v.privateData, "view.private-data", "jobs", "PrivateData (slurm.conf(5)) of clusters whose "+
		"slurm.conf cannot be read and whose object has no annotation that sets it, such as jobs,nodes, or none.")
	set.StringVar(&v.userPrefix, "view.user-prefix", "", "Prefix that user names have in Kubernetes but not in "+
		"Slurm, such as oidc:. Users without the prefix are unknown to Slurm.")
	set.StringVar(&v.namespace, "view.namespace", "", "Namespace of the objects of the cluster of --slurm.url "+
		"without --cluster-namespace. Default: the pod's namespace, or default.")
	set.BoolVar(&v.actions, "view.actions", false, "Serve actions on Slurm's nodes and jobs: create slurmnodes/drain and "+
		"resume, slurmjobs/cancel, hold and release. slurmrestd carries them out with the adapter's token.")
	set.StringArrayVar(&v.peers, "view.peers", nil, "HOST:PORT of all replicas, such as a headless Service. Watches that began at "+
		"another replica then continue here without repeated events. Repeatable.")
}

func (v *viewOptions) check() error {
	if _, err := view.ParsePrivateData(v.privateData); err != nil {
		return fmt.Errorf("--view.private-data: %w", err)
	}
	for _, peer := range v.peers {
		if _, _, err := net.SplitHostPort(peer); err != nil {
			return fmt.Errorf("--view.peers: %q is not HOST:PORT", peer)
		}
	}
	return nil
}

// newView returns the view of the clusters, or nil if it is disabled. It reports panics to the
// exposition.
func (v *viewOptions) newView(registry *clusters.Registry, maxAge time.Duration, expo *exposition, peers view.Peers,
	log lines.Logger) *view.View {
	if !v.enabled {
		return nil
	}
	unknown, _ := view.ParsePrivateData(v.privateData) // check has validated it
	dir := directory{registry: registry, unknown: unknown, namespace: cmp.Or(v.namespace, ownNamespace(), "default")}
	var act view.ActFunc
	if v.actions {
		act = (&actor{registry: registry, directory: dir, log: log}).act
	}
	return view.New(dir, view.Config{Act: act, MaxAge: maxAge, Users: view.Users{Prefix: v.userPrefix}, Peers: peers,
		OnPeerFailure: func(err error) {
			log.Warn("no replica tells what a client has seen: its watch may repeat events", "err", err)
		},
		OnPanic: func(cluster string, err error) { expo.recordPanic(cluster, "view", err) }})
}

// withViewResources adds the resources that the view needs: slurm.conf, for PrivateData.
func (v *viewOptions) withViewResources(resources []slurmclient.Resource) []slurmclient.Resource {
	if !v.enabled || slices.Contains(resources, slurmclient.Conf) {
		return resources
	}
	return append(slices.Clone(resources), slurmclient.Conf)
}

// ownNamespace returns the namespace of the pod, empty outside of pods.
func ownNamespace() string {
	text, err := os.ReadFile(serviceAccountDir + "namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// directory provides the clusters of the registry to the view.
type directory struct {
	registry  *clusters.Registry
	unknown   view.PrivateData
	namespace string // for a cluster without one
}

var _ view.Directory = directory{}

// Changed implements view.Directory.
func (d directory) Changed() <-chan struct{} { return d.registry.Changed() }

// Sources implements view.Directory.
func (d directory) Sources() ([]view.Source, error) {
	shown, err := d.registry.List()
	if err != nil {
		return nil, err
	}
	out := make([]view.Source, 0, len(shown))
	for _, s := range shown {
		out = append(out, d.source(s))
	}
	slices.SortFunc(out, func(a, b view.Source) int { return a.Ref.Compare(b.Ref) })
	return out, nil
}

func (d directory) source(s clusters.Listing) view.Source {
	home := view.ClusterRef{Kind: s.Key.Kind, Namespace: s.Key.Namespace, Name: s.Key.Name}
	if home.Namespace == "" {
		home.Kind, home.Namespace = "", d.namespace
	}
	return view.Source{
		Ref: home,
		Settings: view.Settings{
			Annotations: s.Settings.Annotations, Configured: s.Settings.Configured, ExtraConf: s.Settings.ExtraConf,
			Default: d.unknown,
		},
		Snapshot: func() (*slurmclient.Snapshot, error) {
			r, err := s.Cluster.Reading()
			if err != nil {
				return nil, err
			}
			return r.Snapshot(), nil
		},
	}
}

// addOpenAPI adds the view to the server's OpenAPI documents.
func (o *options) addOpenAPI(base *basecmd.AdapterBase, scheme *runtime.Scheme) {
	namer := openapinamer.NewDefinitionNamer(apiserver.Scheme, scheme)
	base.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(o.openAPIDefinitions, namer)
	base.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(o.openAPIDefinitions, namer)
	base.OpenAPIConfig.Info.Title, base.OpenAPIV3Config.Info.Title = base.Name, base.Name
	// kubectl slurm version shows this version.
	program := cmp.Or(version.Version, "unknown")
	base.OpenAPIConfig.Info.Version, base.OpenAPIV3Config.Info.Version = program, program
}

// openAPIDefinitions returns the OpenAPI models of everything that the adapter serves.
func (o *options) openAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	out := coreapi.GetOpenAPIDefinitions(ref)
	maps.Copy(out, customapi.GetOpenAPIDefinitions(ref))
	if o.external {
		maps.Copy(out, externalapi.GetOpenAPIDefinitions(ref))
	}
	// Ours come last: the library's models of meta/v1 refer to models that it does not define.
	maps.Copy(out, viewapi.GetOpenAPIDefinitions(ref))
	return out
}
