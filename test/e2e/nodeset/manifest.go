package nodeset

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"fmt"
	"text/template"
)

//go:embed testdata/*.yaml
var manifests embed.FS

// ManifestValues are the values for all manifests.
type ManifestValues struct {
	Namespace string
	// Version is Slurm's version, such as "26.05".
	Version string
	// Controller is whether an external Controller stands for the Slurm cluster, instead of a Cluster. The operator may
	// use its slurmctld pod.
	Controller bool
	// SlurmKey and JWTKey are base64-encoded.
	SlurmKey, JWTKey string
}

func newManifestValues(version string, controller bool) (ManifestValues, error) {
	s := ManifestValues{Namespace: "slurm", Version: version, Controller: controller}
	for _, key := range []*string{&s.SlurmKey, &s.JWTKey} {
		raw := make([]byte, 64)
		if _, err := rand.Read(raw); err != nil {
			return s, fmt.Errorf("generating a key: %w", err)
		}
		*key = base64.StdEncoding.EncodeToString(raw)
	}
	return s, nil
}

// render renders a manifest.
func (s ManifestValues) render(name string, more any) (string, error) {
	t, err := template.ParseFS(manifests, "testdata/"+name)
	if err != nil {
		return "", fmt.Errorf("parsing the manifest: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, struct {
		ManifestValues
		More any
	}{s, more}); err != nil {
		return "", fmt.Errorf("rendering the manifest: %w", err)
	}
	return out.String(), nil
}

// NodeSet contains the values of a NodeSet with its HorizontalPodAutoscaler.
type NodeSet struct {
	Name      string
	ExtraConf string
	// Cluster is the name of a Cluster; empty for the environment's own.
	Cluster  string
	Replicas int
	// Max is the HPA's maxReplicas. With 0 there is no HPA, and maxReplicas is 6.
	Max int
	// NoMaximum: the NodeSet has neither an HPA nor maxReplicas.
	NoMaximum bool
	// Round is an annotation of the pods' template. Another value makes another revision.
	Round int
	// Mount is a volume that slurmd mounts at the path of its name, empty for none.
	Mount string
	// Spec is further YAML of the spec, indented by two spaces.
	Spec string
}
