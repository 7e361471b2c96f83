package table

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// templateFormats returns the formats that take a template, as kubectl names them.
func templateFormats() []string {
	return []string{"jsonpath=…", "jsonpath-file=…", "go-template=…", "go-template-file=…"}
}

// newTemplatePrinter returns kubectl's printer for a format that takes a template. It reads the file of
// jsonpath-file and go-template-file.
func newTemplatePrinter(f Format) (printers.ResourcePrinter, error) {
	return genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(string(f))
}

// printTemplate writes an object, given as JSON, through a template.
func printTemplate(w io.Writer, f Format, object []byte) error {
	p, err := newTemplatePrinter(f)
	if err != nil {
		return err
	}
	content := map[string]any{}
	if err := json.Unmarshal(object, &content); err != nil {
		return fmt.Errorf("writing -o %s: %w", f, err)
	}
	return p.PrintObj(&unstructured.Unstructured{Object: content}, w)
}
