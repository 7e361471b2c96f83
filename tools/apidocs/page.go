package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const pageHeader = `# Custom resources

This page is generated: change the comments in ` + "`operator/api`" + ` and run ` + "`make generate`" + `.

The API group is ` + "`slinky.slurm.net`" + `. Every kind is namespaced, has a status subresource, and
refers to objects of its own namespace only. Fields of the types Container, PodSpec,
ServiceSpec and the like are *open*: any part of Kubernetes' own type may be given, a
written ` + "`false`, `0` or `\"\"`" + ` counts, and fields that are not known here are kept.

`

// renderPage returns the whole page, with the kinds in the order of the definitions.
func renderPage(definitions []apiextensionsv1.CustomResourceDefinition) string {
	var out strings.Builder
	out.WriteString(pageHeader)
	for _, d := range definitions {
		fmt.Fprintf(&out, "- [%[1]s](#%[2]s)\n", d.Spec.Names.Kind, strings.ToLower(d.Spec.Names.Kind))
	}
	for _, d := range definitions {
		out.WriteString(renderKind(d))
	}
	return out.String()
}

// renderKind returns the section of one kind.
func renderKind(d apiextensionsv1.CustomResourceDefinition) string {
	var out strings.Builder
	v := storedVersionOf(d)
	root := v.Schema.OpenAPIV3Schema
	fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", d.Spec.Names.Kind, oneLine(root.Description))
	fmt.Fprintf(&out, "`%s`, %s: `%s`", v.Name, "short names", strings.Join(d.Spec.Names.ShortNames, "`, `"))
	if v.Subresources != nil && v.Subresources.Scale != nil {
		out.WriteString("; has a scale subresource")
	}
	out.WriteString(".\n\n")
	out.WriteString(renderOtherVersions(d, *root))
	for _, part := range []string{"spec", "status"} {
		out.WriteString("| field | type | meaning |\n|---|---|---|\n")
		for _, row := range fieldRows(part, root.Properties[part], slices.Contains(root.Required, part)) {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", row.path, row.kind, row.meaning)
		}
		out.WriteString("\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// renderOtherVersions lists how the versions that are not stored differ.
func renderOtherVersions(d apiextensionsv1.CustomResourceDefinition, root apiextensionsv1.JSONSchemaProps) string {
	var out strings.Builder
	for _, v := range d.Spec.Versions {
		if v.Storage {
			continue
		}
		here, there := specFields(root), specFields(*v.Schema.OpenAPIV3Schema)
		alone := func(in, notIn map[string]apiextensionsv1.JSONSchemaProps) []string {
			return slices.DeleteFunc(slices.Sorted(maps.Keys(in)),
				func(f string) bool { _, both := notIn[f]; return both })
		}
		gone, added := alone(here, there), alone(there, here)
		switch {
		case len(gone)+len(added) == 0:
			fmt.Fprintf(&out, "`%s` is the same.\n\n", v.Name)
		default:
			fmt.Fprintf(&out, "`%s` has not `%s`, but:\n\n", v.Name, strings.Join(gone, "`, `"))
			for _, f := range added {
				fmt.Fprintf(&out, "- `%s`: %s\n", f, oneLine(there[f].Description))
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

// specFields returns the direct fields of spec, by path.
func specFields(root apiextensionsv1.JSONSchemaProps) map[string]apiextensionsv1.JSONSchemaProps {
	out := map[string]apiextensionsv1.JSONSchemaProps{}
	for name, s := range root.Properties["spec"].Properties {
		out["spec."+name] = s
	}
	return out
}

func storedVersionOf(d apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(d.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	return d.Spec.Versions[max(i, 0)]
}

// oneLine returns the text in one line, escaped for a table cell.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
