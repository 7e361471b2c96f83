{{/* Whether the HPA can scale to zero: HPAScaleToZero is on by default since Kubernetes 1.37. Else the operator does. */}}
{{- define "slurm.hpaScalesToZero" -}}
{{- if semverCompare ">=1.37-0" .Capabilities.KubeVersion.Version }}true{{ end -}}
{{- end -}}

{{/* The annotations of a NodeSet, those about its scaling and the user's, as YAML. */}}
{{- define "slurm.nodeSetAnnotations" -}}
{{- with .values.annotations }}
{{- toYaml . }}
{{- end }}
{{- with .values.autoscaling -}}
{{- if .enabled -}}
{{- with .idleTime }}
nodeset.slinky.slurm.net/idle-grace: {{ . | quote }}
{{- end }}
{{- if and (eq (int .minReplicas) 0) (not (include "slurm.hpaScalesToZero" $.root)) }}
nodeset.slinky.slurm.net/zero-after: {{ .idleTime | default "10m" | quote }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The behaviour of an HPA (docs/autoscaling.md, "Why the manifest looks as it does"), as YAML. Kubernetes has the
     tolerance since 1.35. */}}
{{- define "slurm.scalingBehavior" -}}
{{- $up := dict "stabilizationWindowSeconds" 0 "policies" (list (dict "type" "Pods" "value" 100 "periodSeconds" 15)) -}}
{{- $down := dict "stabilizationWindowSeconds" 120 -}}
{{- if semverCompare ">=1.35-0" .root.Capabilities.KubeVersion.Version -}}
{{- $_ := set $up "tolerance" "0" -}}
{{- $_ := set $down "tolerance" "0" -}}
{{- end -}}
{{- include "slurm.overlay" (dict "base" (dict "scaleUp" $up "scaleDown" $down) "over" .autoscaling.behavior) -}}
{{- end -}}
