package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver"
	basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	coreapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/core"
	customapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/custommetrics"
	externalapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/externalmetrics"

	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/metricsapi/view"
	viewapi "github.com/slurmtide/slurmtide/metricsapi/view/openapi"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// viewOptions say what of Slurm is shown as objects of Kubernetes.
type viewOptions struct {
	enabled     bool
	privateData string
	userPrefix  string
	namespace   string
}

func (v *viewOptions) flags(app *kingpin.Application) {
	app.Flag("view", "Serve view.slinky.slurm.net: Slurm's jobs, nodes and partitions as read-only objects.").Default("true").BoolVar(&v.enabled)
	app.Flag("view.private-data", "PrivateData of Slurm clusters that do not tell it, whose slurm.conf is not known and whose object has no annotation that tells: such as jobs,nodes, or none.").Default("jobs").StringVar(&v.privateData)
	app.Flag("view.user-prefix", "What users' names have in front in Kubernetes and not in Slurm, such as oidc:. Who has it not is nobody in Slurm.").StringVar(&v.userPrefix)
	app.Flag("view.namespace", "Namespace to show the cluster of --slurm.url in when it has no --cluster-namespace; by default the pod's own, or default.").StringVar(&v.namespace)
}

func (v *viewOptions) check() error {
	if _, err := view.ParsePrivate(v.privateData); err != nil {
		return fmt.Errorf("--view.private-data: %w", err)
	}
	return nil
}

// of returns the view of the clusters, nil where it is switched off. What panics is told
// to the exposition.
func (v *viewOptions) of(registry *clusters.Registry, maxAge time.Duration, expo *exposition) *view.View {
	if !v.enabled {
		return nil
	}
	unknown, _ := view.ParsePrivate(v.privateData) // checked
	dir := directory{registry: registry, unknown: unknown, namespace: cmp.Or(v.namespace, ownNamespace(), "default")}
	return view.New(dir, view.Config{MaxAge: maxAge, Users: view.Users{Prefix: v.userPrefix}, Failed: func(cluster string, err error) { expo.panicked(cluster, "view", err) }})
}

// reads adds to what is read of each cluster what the view needs: what is private.
func (v *viewOptions) reads(resources []slurmclient.Resource) []slurmclient.Resource {
	if !v.enabled || slices.Contains(resources, slurmclient.Conf) {
		return resources
	}
	return append(slices.Clone(resources), slurmclient.Conf)
}

// ownNamespace is the pod's, empty outside of pods.
func ownNamespace() string {
	text, err := os.ReadFile(inPod + "namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// directory is what the registry reads, for the view.
type directory struct {
	registry  *clusters.Registry
	unknown   view.Private
	namespace string // of a cluster that has none
}

var _ view.Directory = directory{}

// Changed implements view.Directory.
func (d directory) Changed() <-chan struct{} { return d.registry.Changed() }

// Sources implements view.Directory.
func (d directory) Sources() ([]view.Source, error) {
	shown, err := d.registry.Shown()
	if err != nil {
		return nil, err
	}
	out := make([]view.Source, 0, len(shown))
	for _, s := range shown {
		out = append(out, d.source(s))
	}
	slices.SortFunc(out, func(a, b view.Source) int { return a.Home.Compare(b.Home) })
	return out, nil
}

func (d directory) source(s clusters.Shown) view.Source {
	home := view.Home{Kind: s.Key.Kind, Namespace: s.Key.Namespace, Name: s.Key.Name}
	if home.Namespace == "" {
		home.Kind, home.Namespace = "", d.namespace
	}
	return view.Source{
		Home: home,
		Settings: view.Settings{
			Annotations: s.Origin.Annotations, Configured: s.Origin.Configured, ExtraConf: s.Origin.ExtraConf, Unknown: d.unknown,
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

// describe has the server's OpenAPI documents tell of the view too.
func (o *options) describe(base *basecmd.AdapterBase, scheme *runtime.Scheme) {
	namer := openapinamer.NewDefinitionNamer(apiserver.Scheme, scheme)
	base.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(o.definitions, namer)
	base.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(o.definitions, namer)
	base.OpenAPIConfig.Info.Title, base.OpenAPIV3Config.Info.Title = base.Name, base.Name
	base.OpenAPIConfig.Info.Version, base.OpenAPIV3Config.Info.Version = "1.0.0", "1.0.0"
}

// definitions are the models of everything that is served.
func (o *options) definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	out := coreapi.GetOpenAPIDefinitions(ref)
	maps.Copy(out, customapi.GetOpenAPIDefinitions(ref))
	if o.external {
		maps.Copy(out, externalapi.GetOpenAPIDefinitions(ref))
	}
	// Those of ours last: the library's models of meta/v1 name some that it has not.
	maps.Copy(out, viewapi.GetOpenAPIDefinitions(ref))
	return out
}
