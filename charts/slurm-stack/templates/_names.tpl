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

{{/* What null takes away from the values of MariaDB stays as it is. */}}
{{- define "slurm-stack.mariadbDefaults" -}}
image: {repository: docker.io/library/mariadb, tag: 11.4.5, pullPolicy: IfNotPresent}
persistence: {enabled: true, size: 8Gi}
{{- end -}}

{{/* Whether a part is installed, as Helm takes it: unless install.PART is false. */}}
{{- define "slurm-stack.installs" -}}
{{- if dig .part true (.root.Values.install | default dict) }}true{{ end -}}
{{- end -}}

{{/* The annotations of a hook that runs before the release is removed: "weight" orders them. */}}
{{- define "slurm-stack.beforeRemoval" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* The spec of a pod that does something with the rights of the operator: "command" is an argument of slurm-operator,
     and "more" are flags. */}}
{{- define "slurm-stack.operatorPod" -}}
{{- $operator := index .root.Subcharts "slurm-operator" -}}
{{- $values := $operator.Values -}}
restartPolicy: Never
serviceAccountName: {{ include "slurm-operator.serviceAccountName" $operator }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
containers:
  - name: {{ .command }}
    image: {{ include "slurm-operator.image" (dict "root" $operator "image" $values.image) | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args:
      - {{ .command }}
      - --release={{ .root.Release.Name }}
      - --release-namespace={{ .root.Release.Namespace }}
      {{- with include "slurm-operator.managedNamespaces" $operator | fromJsonArray }}
      - --namespaces={{ join "," . }}
      {{- end }}
      {{- range .more }}
      - {{ . }}
      {{- end }}
    resources:
      requests:
        cpu: 10m
        memory: 32Mi
      limits:
        memory: 256Mi
    securityContext:
      {{- toYaml $values.securityContext | nindent 6 }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
