{{/* The spec of the HelmRelease of a release, on which the release's own "spec" is laid. */}}
{{- define "slurm-flux.spec" -}}
{{- $spec := include "slurm-flux.commonSpec" . | fromYaml -}}
{{- $spec = mergeOverwrite $spec (include "slurm-flux.chartOf" . | fromYaml) -}}
{{- $spec = mergeOverwrite $spec (deepCopy .release.settings.spec) -}}
{{- with include "slurm-flux.values" . | fromYaml }}{{ $_ := set $spec "values" . }}{{ end -}}
{{- toYaml $spec -}}
{{- end -}}

{{- define "slurm-flux.commonSpec" -}}
{{- $values := .root.Values -}}
{{- $settings := .release.settings -}}
{{- $isCluster := eq .release.chart "slurm" -}}
interval: {{ $values.interval }}
timeout: {{ $values.timeout }}
releaseName: {{ $settings.releaseName }}
targetNamespace: {{ $settings.namespace }}
# Flux's own namespace, the default, need not exist in another Kubernetes cluster.
storageNamespace: {{ $settings.namespace }}
{{- with $values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with include "slurm-flux.kubeConfig" .root }}
kubeConfig:
  {{- . | nindent 2 }}
{{- end }}
{{- if or .release.needs $settings.dependsOn }}
dependsOn:
  {{- range .release.needs }}
  - name: {{ . }}
  {{- end }}
  {{- with $settings.dependsOn }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
install:
  createNamespace: {{ $values.install.createNamespace }}
  crds: {{ $values.install.crds }}
  {{- include "slurm-flux.failure" .root | nindent 2 }}
upgrade:
  crds: {{ $values.upgrade.crds }}
  {{- include "slurm-flux.failure" .root | nindent 2 }}
uninstall:
  timeout: {{ $isCluster | ternary $values.removal.timeout $values.timeout }}
{{- if and $values.tests (not $isCluster) (ne .release.chart "slurm-operator-crds") }}
test:
  enable: true
{{- end }}
driftDetection:
  {{- toYaml $values.driftDetection | nindent 2 }}
waitStrategy:
  name: poller
{{- if and $isCluster $values.healthChecks }}
healthCheckExprs:
  {{- include "slurm-flux.healthChecks" . | nindent 2 }}
{{- end }}
{{- with $settings.valuesFrom }}
valuesFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What Flux does when an installation or an upgrade fails. */}}
{{- define "slurm-flux.failure" -}}
strategy:
  name: {{ .Values.failure.strategy }}
{{- if eq .Values.failure.strategy "RetryOnFailure" }}
  retryInterval: {{ .Values.failure.retryInterval }}
{{- else }}
remediation:
  retries: {{ .Values.failure.retries }}
{{- end }}
{{- end -}}

{{- define "slurm-flux.kubeConfig" -}}
{{- with .Values.kubeConfig -}}
{{- if .secretRef.name -}}
secretRef:
  name: {{ .secretRef.name }}
  {{- with .secretRef.key }}
  key: {{ . }}
  {{- end }}
{{- else if .configMapRef.name -}}
configMapRef:
  name: {{ .configMapRef.name }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where Flux finds the chart of a release. */}}
{{- define "slurm-flux.chartOf" -}}
{{- if eq .root.Values.source.kind "OCIRepository" -}}
chartRef:
  kind: OCIRepository
  name: {{ .release.name }}
{{- else -}}
chart:
  spec:
    chart: {{ .release.chart }}
    version: {{ include "slurm-flux.version" (dict "root" .root "settings" .release.settings) | quote }}
    interval: {{ .root.Values.source.interval }}
    sourceRef:
      kind: HelmRepository
      name: {{ include "slurm-flux.fullname" .root }}
{{- end -}}
{{- end -}}

{{/* When a custom resource is ready. A NodeSet is as soon as the operator has accepted it: its workers may wait for jobs.
     A daemon that runs elsewhere has the reason External. */}}
{{- define "slurm-flux.healthChecks" -}}
{{- $ready := "status.conditions.exists(c, c.type == 'Ready' && c.observedGeneration == metadata.generation && %s)" -}}
{{- range $kind := list "Controller" "Accounting" "RestApi" "LoginSet" "NodeSet" }}
- apiVersion: slinky.slurm.net/v1beta1
  kind: {{ $kind }}
  failed: {{ printf $ready "c.reason == 'InvalidSpec'" }}
  current: {{ printf $ready (eq $kind "NodeSet" | ternary "c.reason != 'InvalidSpec'" "(c.status == 'True' || c.reason == 'External')") }}
{{- end }}
{{- end -}}
