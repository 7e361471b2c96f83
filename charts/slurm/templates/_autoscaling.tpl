{{/* Whether the HPA can scale to zero: HPAScaleToZero is on by default since Kubernetes 1.37. Else the operator does. */}}
{{- define "slurm.hpaScalesToZero" -}}
{{- if semverCompare ">=1.37-0" .Capabilities.KubeVersion.Version }}true{{ end -}}
{{- end -}}

{{/* The names of the NodeSets in the values that an HPA scales. */}}
{{- define "slurm.scaledNodeSets" -}}
{{- $names := list -}}
{{- range $set, $values := include "slurm.nodesets" . | fromYaml }}{{ if $values.autoscaling.enabled }}{{ $names = append $names $set }}{{ end }}{{ end -}}
{{- $names | sortAlpha | join ", " -}}
{{- end -}}

{{/* Whether an HPA can have a tolerance: on by default since Kubernetes 1.35. */}}
{{- define "slurm.hpaHasTolerance" -}}
{{- if semverCompare ">=1.35-0" .Capabilities.KubeVersion.Version }}true{{ end -}}
{{- end -}}

{{/* What HPAs lack in this version of Kubernetes, as lines of the notes that begin with a line break. */}}
{{- define "slurm.missingInKubernetes" -}}
{{- if include "slurm.scaledNodeSets" . -}}
{{- if not (include "slurm.hpaScalesToZero" .) }}
Before Kubernetes 1.37 HPAs do not scale to zero: they have at least one worker, and the operator takes NodeSets to zero.
{{- end }}
{{- if not (include "slurm.hpaHasTolerance" .) }}
Before Kubernetes 1.35 HPAs ignore differences below 10 %: they do not scale from 50 workers to 54.
{{- end }}
{{- end }}
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
{{- if .scaleUpImmediately }}
nodeset.slinky.slurm.net/scale-up: immediate
{{- end }}
{{- if and (eq (int .minReplicas) 0) (not (include "slurm.hpaScalesToZero" $.root)) }}
nodeset.slinky.slurm.net/zero-after: {{ .idleTime | default "10m" | quote }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The behaviour of an HPA (docs/autoscaling.md, "Why the manifest looks as it does"), as YAML. */}}
{{- define "slurm.scalingBehavior" -}}
{{- $up := dict "stabilizationWindowSeconds" 0 "policies" (list (dict "type" "Pods" "value" 100 "periodSeconds" 15)) -}}
{{- $down := dict "stabilizationWindowSeconds" 120 -}}
{{- if include "slurm.hpaHasTolerance" .root -}}
{{- $_ := set $up "tolerance" "0" -}}
{{- $_ := set $down "tolerance" "0" -}}
{{- end -}}
{{- include "slurm.overlay" (dict "base" (dict "scaleUp" $up "scaleDown" $down) "over" .autoscaling.behavior) -}}
{{- end -}}
