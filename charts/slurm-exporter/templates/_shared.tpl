{{/* Written by hack/charts/generate from hack/charts: do not edit. */}}

{{/* The chart's name in labels. */}}
{{- define "slurm-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the objects: the release name, followed by the chart name unless the release name contains it. */}}
{{- define "slurm-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "slurm-exporter.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The namespace of the objects. */}}
{{- define "slurm-exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "slurm-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "slurm-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of the values take the place of the chart's, but not of those by which Services find pods. */}}
{{- define "slurm-exporter.labels" -}}
{{- include "slurm-exporter.mergedLabels" (dict "root" . "own" "slurm-exporter.ownLabels" "more" .Values.commonLabels) -}}
{{- end -}}

{{- define "slurm-exporter.mergedLabels" -}}
{{- $own := include .own .root -}}
{{- with .more -}}
{{- toYaml (merge (include "slurm-exporter.selectorLabels" $.root | fromYaml) . (fromYaml $own)) -}}
{{- else -}}
{{- $own -}}
{{- end -}}
{{- end -}}

{{- define "slurm-exporter.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "slurm-exporter.selectorLabels" . }}
app.kubernetes.io/component: exporter
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{/* Labels of pods: without versions, so that a new chart version does not restart the pods. */}}
{{- define "slurm-exporter.podLabels" -}}
{{- $more := merge (dict) (.Values.podLabels | default dict) (.Values.commonLabels | default dict) -}}
{{- include "slurm-exporter.mergedLabels" (dict "root" . "own" "slurm-exporter.ownPodLabels" "more" $more) -}}
{{- end -}}

{{- define "slurm-exporter.ownPodLabels" -}}
{{ include "slurm-exporter.selectorLabels" . }}
app.kubernetes.io/component: exporter
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{- define "slurm-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "slurm-exporter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image, by digest or by tag, or as one text; empty without a repository. global.imageRegistry takes the place of the
     registry. A released chart knows the digests of the images that were released with it, which a tag gets too, but not in another
     registry: docker push of one platform makes another digest. */}}
{{- define "slurm-exporter.image" -}}
{{- $image := .image | default dict -}}
{{- if kindIs "string" $image }}{{ $image = dict "repository" $image "isWhole" true }}{{ end -}}
{{- if $image.repository -}}
{{- $repository := $image.repository -}}
{{- $tag := toString ($image.tag | default .root.Chart.AppVersion) -}}
{{- $prefix := printf "image: %s:%s@" $repository $tag -}}
{{- $released := "" -}}
{{- range splitList "\n" (index .root.Chart.Annotations "artifacthub.io/images") -}}
{{- if hasPrefix $prefix (trim .) }}{{ $released = trimPrefix $prefix (trim .) }}{{ end -}}
{{- end -}}
{{- with dig "imageRegistry" "" (.root.Values.global | default dict) -}}
{{- $parts := splitList "/" $repository -}}
{{- if and (gt (len $parts) 1) (regexMatch "[.:]|^localhost$" (first $parts)) }}{{ $repository = join "/" (rest $parts) }}{{ end -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository -}}
{{- $released = "" -}}
{{- end -}}
{{- if $image.isWhole -}}
{{- $repository -}}
{{- else if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository $tag -}}
{{- with $released }}@{{ . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
