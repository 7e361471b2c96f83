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

// Site is what the manifests are filled in with.
type Site struct {
	Namespace string
	// Version is Slurm's, such as "26.05".
	Version string
	// Controller: the Slurm cluster is known by an external Controller, whose
	// slurmctld's pod the operator may use, instead of by a Cluster.
	Controller bool
	// SlurmKey and JWTKey are base64.
	SlurmKey, JWTKey string
}

func newSite(version string, controller bool) (Site, error) {
	s := Site{Namespace: "slurm", Version: version, Controller: controller}
	for _, key := range []*string{&s.SlurmKey, &s.JWTKey} {
		raw := make([]byte, 64)
		if _, err := rand.Read(raw); err != nil {
			return s, fmt.Errorf("making a key: %w", err)
		}
		*key = base64.StdEncoding.EncodeToString(raw)
	}
	return s, nil
}

// render fills in a manifest.
func (s Site) render(name string, more any) (string, error) {
	t, err := template.ParseFS(manifests, "testdata/"+name)
	if err != nil {
		return "", fmt.Errorf("reading the manifest: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, struct {
		Site
		More any
	}{s, more}); err != nil {
		return "", fmt.Errorf("filling in the manifest: %w", err)
	}
	return out.String(), nil
}

// NodeSet is a NodeSet with its HorizontalPodAutoscaler.
type NodeSet struct {
	Name      string
	ExtraConf string
	// Cluster is the name of another one than the scene's, empty for that.
	Cluster  string
	Replicas int
	// Max is the HPA's maxReplicas; 0: there is no HPA, and maxReplicas is 6.
	Max int
	// Round is on the pods' template: another one makes another revision.
	Round int
	// Mount is a volume that slurmd has at the path of its name, empty for none.
	Mount string
	// Spec is further YAML of the spec, indented by two.
	Spec string
}
