{{/* Written by hack/charts/generate from hack/charts: do not edit. */}}

{{/* The chart's name in labels. */}}
{{- define "slurm-metrics.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the objects: the release name, followed by the chart name unless the release name contains it. */}}
{{- define "slurm-metrics.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "slurm-metrics.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The namespace of the objects. */}}
{{- define "slurm-metrics.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "slurm-metrics.selectorLabels" -}}
app.kubernetes.io/name: {{ include "slurm-metrics.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of the values take the place of the chart's, but not of those by which Services find pods. */}}
{{- define "slurm-metrics.labels" -}}
{{- include "slurm-metrics.mergedLabels" (dict "root" . "own" "slurm-metrics.ownLabels" "more" .Values.commonLabels) -}}
{{- end -}}

{{- define "slurm-metrics.mergedLabels" -}}
{{- $own := include .own .root -}}
{{- with .more -}}
{{- toYaml (merge (include "slurm-metrics.selectorLabels" $.root | fromYaml) . (fromYaml $own)) -}}
{{- else -}}
{{- $own -}}
{{- end -}}
{{- end -}}

{{- define "slurm-metrics.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "slurm-metrics.selectorLabels" . }}
app.kubernetes.io/component: metrics-adapter
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{/* Labels of pods: without versions, so that a new chart version does not restart the pods. */}}
{{- define "slurm-metrics.podLabels" -}}
{{- $more := merge (dict) (.Values.podLabels | default dict) (.Values.commonLabels | default dict) -}}
{{- include "slurm-metrics.mergedLabels" (dict "root" . "own" "slurm-metrics.ownPodLabels" "more" $more) -}}
{{- end -}}

{{- define "slurm-metrics.ownPodLabels" -}}
{{ include "slurm-metrics.selectorLabels" . }}
app.kubernetes.io/component: metrics-adapter
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{- define "slurm-metrics.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "slurm-metrics.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The name of cluster-scoped objects. It includes the namespace, since releases in two namespaces may share a name. */}}
{{- define "slurm-metrics.clusterName" -}}
{{- printf "%s:%s" (include "slurm-metrics.namespace" .) (include "slurm-metrics.fullname" .) -}}
{{- end -}}

{{/* The subject of role bindings. */}}
{{- define "slurm-metrics.subject" -}}
- kind: ServiceAccount
  name: {{ include "slurm-metrics.serviceAccountName" . }}
  namespace: {{ include "slurm-metrics.namespace" . }}
{{- end -}}

{{/* The Secret with the serving certificate. Each source has its own, so that an upgrade
     can switch between them. */}}
{{- define "slurm-metrics.certificateSecret" -}}
{{- if eq .Values.certificates.from "existingSecret" -}}
{{- .Values.certificates.existingSecret -}}
{{- else -}}
{{- $suffix := ternary "certificate" "tls" (eq .Values.certificates.from "selfMade") -}}
{{- printf "%s-%s" (include "slurm-metrics.fullname" . | trunc 51 | trimSuffix "-") $suffix -}}
{{- end -}}
{{- end -}}

{{/* The namespaces of the values, which may be templates, such as of the release namespace. */}}
{{- define "slurm-metrics.managedNamespaces" -}}
{{- $out := list -}}
{{- range .Values.namespaces -}}
{{- $out = append $out (tpl . $) -}}
{{- end -}}
{{- $out | uniq | toJson -}}
{{- end -}}

{{/* The namespaces whose Secrets may be read: rbac.secretNamespaces, else namespaces, else
     the release namespace. */}}
{{- define "slurm-metrics.secretNamespaces" -}}
{{- $of := include "slurm-metrics.managedNamespaces" . | fromJsonArray -}}
{{- .Values.rbac.secretNamespaces | default $of | default (list (include "slurm-metrics.namespace" .)) | uniq | toJson -}}
{{- end -}}

{{/* An image, by digest or by tag, or as one text; empty without a repository. global.imageRegistry takes the place of the
     registry. A released chart knows the digests of the images that were released with it, which a tag gets too, but not in another
     registry: docker push of one platform makes another digest. */}}
{{- define "slurm-metrics.image" -}}
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
