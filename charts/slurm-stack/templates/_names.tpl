{{- define "slurm-stack.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: slurmtide
{{ include "slurm-stack.selectorLabels" . }}
{{- end -}}

{{/* "mariadb" is the only thing with pods of its own here. */}}
{{- define "slurm-stack.selectorLabels" -}}
app.kubernetes.io/name: slurm-mariadb
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The annotations of a hook that runs before the release is removed: "weight" orders them. */}}
{{- define "slurm-stack.beforeRemoval" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
