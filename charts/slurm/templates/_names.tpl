{{/* The chart's name in labels. */}}
{{- define "slurm.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the cluster: of the Controller and its RestApi, and the beginning of all other names. Services have it
     with at most 20 characters more. */}}
{{- define "slurm.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "slurm.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "slurm.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* The labels of the chart's objects. The operator labels what it makes itself. */}}
{{- define "slurm.labels" -}}
{{- with .Values.commonLabels -}}
{{- toYaml (merge (dict) . (include "slurm.ownLabels" $ | fromYaml)) -}}
{{- else -}}
{{- include "slurm.ownLabels" . -}}
{{- end -}}
{{- end -}}

{{- define "slurm.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "slurm.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: slurmtide
{{- end -}}

{{/* The metadata of an object: "name" is its name, "annotations" are its, and "of" are values with metadata, which objects
     have as their pods do. */}}
{{- define "slurm.metadata" -}}
{{- $more := (.of | default dict).metadata | default dict -}}
name: {{ .name }}
namespace: {{ include "slurm.namespace" .root }}
labels:
  {{- if $more.labels }}
  {{- toYaml (merge (include "slurm.labels" .root | fromYaml) $more.labels) | nindent 2 }}
  {{- else }}
  {{- include "slurm.labels" .root | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) ($more.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "slurm.loginSetName" -}}
{{- printf "%s-login-%s" (include "slurm.fullname" .root) .name -}}
{{- end -}}

{{- define "slurm.nodeSetName" -}}
{{- printf "%s-worker-%s" (include "slurm.fullname" .root) .name -}}
{{- end -}}

{{/* A reference to a key of a Secret or ConfigMap: "ref" is that of the values, "name" and "key" are the defaults. */}}
{{- define "slurm.ref" -}}
{{- $ref := .ref | default dict -}}
name: {{ $ref.name | default .name }}
key: {{ $ref.key | default .key }}
{{- end -}}

{{- define "slurm.slurmKeyRef" -}}
{{- include "slurm.ref" (dict "ref" (.Values.slurmKey.secretRef | default .Values.slurmKeyRef) "name" (printf "%s-auth-slurm" (include "slurm.fullname" .)) "key" "slurm.key") -}}
{{- end -}}

{{- define "slurm.jwtKeyRef" -}}
{{- include "slurm.ref" (dict "ref" (.Values.jwtKey.secretRef | default .Values.jwtHs256KeyRef) "name" (printf "%s-auth-jwt" (include "slurm.fullname" .)) "key" "jwt.key") -}}
{{- end -}}

{{- define "slurm.jwksKeyRef" -}}
{{- include "slurm.ref" (dict "ref" .Values.jwksKeys.configMapRef "name" (printf "%s-auth-jwks" (include "slurm.fullname" .)) "key" "jwks.json") -}}
{{- end -}}

{{/* The sssd.conf of a LoginSet: "name" and "values" are its. */}}
{{- define "slurm.loginSSSDConfRef" -}}
{{- if .values.sssdConf -}}
{{- include "slurm.ref" (dict "name" (printf "%s-sssd-conf" (include "slurm.loginSetName" .)) "key" "sssd.conf") -}}
{{- else -}}
{{- include "slurm.sssdConfRef" .root -}}
{{- end -}}
{{- end -}}

{{- define "slurm.sssdConfRef" -}}
{{- include "slurm.ref" (dict "ref" .Values.sssd.secretRef "name" (printf "%s-sssd-conf" (include "slurm.fullname" .)) "key" "sssd.conf") -}}
{{- end -}}

{{/* The keys that the operator is to generate: the value of its annotation, empty for none. */}}
{{- define "slurm.generatedKeys" -}}
{{- $keys := list -}}
{{- if not .Values.controller.external -}}
{{- if dig "create" true .Values.slurmKey }}{{ $keys = append $keys "slurmKeyRef" }}{{ end -}}
{{- if dig "create" true .Values.jwtKey }}{{ $keys = append $keys "jwtKeyRef" }}{{ end -}}
{{- end -}}
{{- join "," $keys -}}
{{- end -}}
