{{/* The start of the names of all objects. */}}
{{- define "slurm-flux.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The namespace of the objects, in which Flux also looks for the kubeconfig. */}}
{{- define "slurm-flux.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "slurm-flux.labels" -}}
{{- with .Values.commonLabels -}}
{{- toYaml (merge (dict) . (include "slurm-flux.ownLabels" $ | fromYaml)) -}}
{{- else -}}
{{- include "slurm-flux.ownLabels" . -}}
{{- end -}}
{{- end -}}

{{- define "slurm-flux.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{/* The version of the chart of a release: "settings" are those of the release. */}}
{{- define "slurm-flux.version" -}}
{{- .settings.version | default .root.Values.version | default .root.Chart.Version -}}
{{- end -}}
