{{/* The chart's name in labels. */}}
{{- define "CHART.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the objects: the release name, followed by the chart name unless the release name contains it. */}}
{{- define "CHART.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "CHART.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The namespace of the objects. */}}
{{- define "CHART.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "CHART.selectorLabels" -}}
app.kubernetes.io/name: {{ include "CHART.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of the values take the place of the chart's, but not of those by which Services find pods. */}}
{{- define "CHART.labels" -}}
{{- include "CHART.mergedLabels" (dict "root" . "own" "CHART.ownLabels" "more" .Values.commonLabels) -}}
{{- end -}}

{{- define "CHART.mergedLabels" -}}
{{- $own := include .own .root -}}
{{- with .more -}}
{{- toYaml (merge (include "CHART.selectorLabels" $.root | fromYaml) . (fromYaml $own)) -}}
{{- else -}}
{{- $own -}}
{{- end -}}
{{- end -}}

{{- define "CHART.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "CHART.selectorLabels" . }}
app.kubernetes.io/component: COMPONENT
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{/* Labels of pods: without versions, so that a new chart version does not restart the pods. */}}
{{- define "CHART.podLabels" -}}
{{- $more := merge (dict) (.Values.podLabels | default dict) (.Values.commonLabels | default dict) -}}
{{- include "CHART.mergedLabels" (dict "root" . "own" "CHART.ownPodLabels" "more" $more) -}}
{{- end -}}

{{- define "CHART.ownPodLabels" -}}
{{ include "CHART.selectorLabels" . }}
app.kubernetes.io/component: COMPONENT
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{- define "CHART.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "CHART.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}
