{{/* The selectors of the cluster's pods by daemon, as YAML; "all" are those of every daemon but slurmdbd, which may serve
     other clusters. */}}
{{- define "slurm.daemonPods" -}}
{{- $name := include "slurm.fullname" . -}}
{{- range list "slurmctld" "slurmrestd" "slurmd" "login" }}
{{ . }}: {matchLabels: {app.kubernetes.io/name: {{ . }}, slinky.slurm.net/cluster: {{ $name | quote }}}}
{{- end }}
slurmdbd: {matchLabels: {app.kubernetes.io/name: slurmdbd, app.kubernetes.io/instance: {{ $name | quote }}}}
all: {matchLabels: {slinky.slurm.net/cluster: {{ $name | quote }}}}
{{- end -}}

{{/* The rules of ingress by daemon, as YAML. A worker and a login pod are reached at any port: srun, MPI and the steps of
     jobs choose theirs. slurm-agent tells the operator its status at 6826, in every pod. */}}
{{- define "slurm.ingress" -}}
{{- $pods := include "slurm.daemonPods" . | fromYaml -}}
{{- $cluster := prepend .Values.networkPolicies.outside (dict "podSelector" $pods.all) -}}
{{- $operator := .Values.networkPolicies.operator -}}
{{- $agent := include "slurm.rule" (dict "from" $operator "ports" (list 6826)) | fromYaml -}}
{{- $out := dict
      "slurmctld" (list (include "slurm.rule" (dict "from" (append $cluster (dict "podSelector" $pods.slurmdbd)) "ports" (list 6817)) | fromYaml) $agent)
      "slurmd" (list (include "slurm.rule" (dict "from" $cluster) | fromYaml) $agent)
      "login" (list (include "slurm.rule" (dict "from" $cluster) | fromYaml)
        (include "slurm.rule" (dict "from" .Values.networkPolicies.ssh "ports" (list 22)) | fromYaml) $agent)
      "slurmrestd" (list (include "slurm.rule" (dict "from" $cluster "ports" (list 6820 6821)) | fromYaml)
        (include "slurm.rule" (dict "from" $operator "ports" (list 6820 6821)) | fromYaml) $agent)
      "slurmdbd" (list (include "slurm.rule" (dict "from" $cluster "ports" (list 6819)) | fromYaml) $agent) -}}
{{- if .Values.controller.external }}{{ $_ := unset $out "slurmctld" }}{{ end -}}
{{- if or .Values.accounting.external (not .Values.accounting.enabled) }}{{ $_ := unset $out "slurmdbd" }}{{ end -}}
{{- if .Values.controller.metrics.enabled -}}
{{- if $out.slurmctld }}{{ $_ := set $out "slurmctld" (append $out.slurmctld (include "slurm.rule" (dict "from" .Values.networkPolicies.monitoring "ports" (list 6817)) | fromYaml)) }}{{ end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* One rule: "from" are the peers, all if there are none, and "ports" the ports, all if there are none. */}}
{{- define "slurm.rule" -}}
{{- $out := dict -}}
{{- with .from }}{{ $_ := set $out "from" . }}{{ end -}}
{{- if .ports -}}
{{- $ports := list -}}
{{- range .ports }}{{ $ports = append $ports (dict "port" . "protocol" "TCP") }}{{ end -}}
{{- $_ := set $out "ports" $ports -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
