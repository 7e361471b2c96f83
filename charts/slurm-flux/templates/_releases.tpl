{{/* The enabled releases, each after those that it needs, as a YAML list of {key, name, chart, settings, needs}: "key" is
     its path in the values, "name" that of its HelmRelease, and "needs" are names of HelmReleases. */}}
{{- define "slurm-flux.releases" -}}
{{- $out := list -}}
{{- $prefix := include "slurm-flux.fullname" . -}}
{{- $names := dict -}}
{{- range $part := include "slurm-flux.parts" . | fromYamlArray -}}
{{- if $part.settings.enabled -}}
{{- $name := printf "%s-%s" $prefix $part.suffix -}}
{{- $needs := list -}}
{{- range $part.needs }}{{ if hasKey $names . }}{{ $needs = append $needs (get $names .) }}{{ end }}{{ end -}}
{{- $_ := set $names $part.key $name -}}
{{- $out = append $out (dict "key" $part.key "name" $name "chart" $part.chart "settings" $part.settings "needs" $needs) -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* All releases with their settings, and the keys of those that they need. */}}
{{- define "slurm-flux.parts" -}}
{{- $out := list
  (dict "key" "definitions" "suffix" "crds" "chart" "slurm-operator-crds" "settings" .Values.definitions "needs" list)
  (dict "key" "operator" "suffix" "operator" "chart" "slurm-operator" "settings" .Values.operator "needs" (list "definitions"))
  (dict "key" "metrics" "suffix" "metrics" "chart" "slurm-metrics" "settings" .Values.metrics "needs" (list "definitions" "operator"))
  (dict "key" "exporter" "suffix" "exporter" "chart" "slurm-exporter" "settings" .Values.exporter "needs" list) -}}
{{- range $name, $given := .Values.clusters -}}
{{- $settings := dict "enabled" true "releaseName" $name "namespace" $name "version" "" "dependsOn" list "values" dict "valuesFrom" list "spec" dict -}}
{{- $out = append $out (dict "key" (printf "clusters.%s" $name) "suffix" (printf "cluster-%s" $name) "chart" "slurm"
  "settings" (mergeOverwrite $settings (deepCopy $given)) "needs" (list "definitions" "operator")) -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* The namespaces of all clusters, as a JSON list. The operator needs its rights until a cluster that is disabled is gone. */}}
{{- define "slurm-flux.clusterNamespaces" -}}
{{- $out := list -}}
{{- range include "slurm-flux.parts" . | fromYamlArray }}{{ if eq .chart "slurm" }}{{ $out = append $out .settings.namespace }}{{ end }}{{ end -}}
{{- uniq $out | sortAlpha | toJson -}}
{{- end -}}

{{/* The values of a release: those that the user gave, and what follows from the other releases. */}}
{{- define "slurm-flux.values" -}}
{{- $values := deepCopy .release.settings.values -}}
{{- $chart := .release.chart -}}
{{- if has $chart (list "slurm-operator" "slurm-metrics") -}}
{{- $namespaces := include "slurm-flux.clusterNamespaces" .root | fromJsonArray -}}
{{- if and $namespaces (not $values.namespaces) (not (dig "rbac" "secretNamespaces" list $values)) -}}
{{- $values = mergeOverwrite $values (dict "rbac" (dict "secretNamespaces" $namespaces)) -}}
{{- end -}}
{{- end -}}
{{- with concat ($values.extraObjects | default list) (include "slurm-flux.objectsOf" . | fromYamlArray) }}{{ $_ := set $values "extraObjects" . }}{{ end -}}
{{- toYaml $values -}}
{{- end -}}

{{/* The objects that a release gets beside those of its chart, as a YAML list. */}}
{{- define "slurm-flux.objectsOf" -}}
{{- $values := .root.Values -}}
{{- $objects := list -}}
{{- if eq .release.chart "slurm-operator" -}}
{{- if $values.install.createNamespace }}{{ $objects = include "slurm-flux.namespaces" .root | fromYamlArray }}{{ end -}}
{{- if $values.removal.enabled }}{{ $objects = append $objects (.root.Files.Get "files/operator-removal.yaml") }}{{ end -}}
{{- else if and (eq .release.chart "slurm") $values.removal.enabled -}}
{{- $objects = include "slurm-flux.clusterRemoval" . | fromYamlArray -}}
{{- end -}}
{{- toYaml $objects -}}
{{- end -}}

{{/* The namespaces of the clusters, as a YAML list: the operator has rights in them before the clusters come. */}}
{{- define "slurm-flux.namespaces" -}}
{{- range include "slurm-flux.clusterNamespaces" . | fromJsonArray }}
{{- if ne . $.Values.operator.namespace }}
- apiVersion: v1
  kind: Namespace
  metadata:
    name: {{ . }}
    annotations:
      helm.sh/resource-policy: keep
{{- end }}
{{- end }}
{{- end -}}
