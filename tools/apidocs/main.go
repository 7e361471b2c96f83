// Command apidocs writes the reference of the API group from its definitions: the
// chart's templates, which hack/crds makes of the types.
//
//	apidocs charts/slurm-operator-crds/templates >docs/api.md
package main

import (
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: apidocs FOLDER")
		os.Exit(2)
	}
	definitions, err := readDefinitions(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "apidocs:", err)
		os.Exit(1)
	}
	fmt.Print(renderPage(definitions))
}

// readDefinitions returns the definitions of a folder, sorted by file name. Helm's instructions in
// the files are comments.
func readDefinitions(folder string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no definitions in %s", folder)
	}
	out := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(text, &out[i]); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
	}
	return out, nil
}
