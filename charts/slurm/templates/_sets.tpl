{{/* The enabled NodeSets by name, merged with the defaults, as YAML. Extra options on both sides are merged, too. */}}
{{- define "slurm.nodesets" -}}
{{- include "slurm.withGoogle" (dict "root" . "sets" (include "slurm.mergedSets" (dict "defaults" .Values.nodesetDefaults "sets" .Values.nodesets) | fromYaml)) -}}
{{- end -}}

{{/* The enabled LoginSets by name, merged with the defaults, as YAML. */}}
{{- define "slurm.loginsets" -}}
{{- include "slurm.mergedSets" (dict "defaults" .Values.loginsetDefaults "sets" .Values.loginsets) -}}
{{- end -}}

{{- define "slurm.mergedSets" -}}
{{- $defaults := .defaults -}}
{{- $out := dict -}}
{{- range $name, $set := .sets -}}
{{- $merged := include "slurm.overlay" (dict "base" $defaults "over" ($set | default dict)) | fromYaml -}}
{{- range $key, $value := $defaults }}{{ if and (kindIs "map" $value) (not (get $merged $key)) }}{{ $_ := set $merged $key dict }}{{ end }}{{ end -}}
{{- if $merged.enabled }}{{ $_ := set $out $name $merged }}{{ end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* A map over another one, key by key, as YAML. Unlike Sprig's merge it keeps an explicit false, 0, "" or empty list, and
     null takes the base's key away. */}}
{{- define "slurm.overlay" -}}
{{- $out := deepCopy .base -}}
{{- range $key, $value := .over -}}
{{- $below := get $out $key -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $out $key -}}
{{- else if and (kindIs "map" $value) (kindIs "map" $below) -}}
{{- $_ := set $out $key (include "slurm.overlay" (dict "base" $below "over" $value) | fromYaml) -}}
{{- else -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
