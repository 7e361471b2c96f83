{{/* Gives .Values the maps that null has taken away, empty, and the values without which templates fail: Helm removes a default
     whose value is null. An entry of a map that is null is not there. */}}
{{- define "slurm.fillValues" -}}
{{- range $path := list "priorityClass" "slurmKey" "jwtKey" "jwksKeys" "controller.externalConfig" "controller.slurmctld"
      "controller.reconfigure" "controller.logfile" "controller.ha" "controller.persistence" "controller.service"
      "controller.metrics.serviceMonitor" "restapi.pdb" "restapi.slurmrestd" "restapi.service" "accounting.externalConfig"
      "accounting.slurmdbd" "accounting.storageConfig.passwordKeyRef" "accounting.service" "sssd" "loginsetDefaults.login"
      "loginsetDefaults.initconf" "loginsetDefaults.podSpec" "loginsetDefaults.service" "loginsets" "nodesetDefaults.autoscaling"
      "nodesetDefaults.slurmd" "nodesetDefaults.logfile" "nodesetDefaults.partition" "nodesetDefaults.ssh" "nodesetDefaults.podSpec"
      "nodesets" "partitions" "vendor.nvidia.dcgm" "vendor.google" "networkPolicies" -}}
{{- $at := $.Values -}}
{{- range $key := splitList "." $path -}}
{{- if not (get $at $key) }}{{ $_ := set $at $key dict }}{{ end -}}
{{- $at = get $at $key -}}
{{- end -}}
{{- end -}}
{{- range $map := list "nodesets" "loginsets" "partitions" "configFiles" "prologSlurmctldScripts" "epilogSlurmctldScripts"
      "prologScripts" "epilogScripts" -}}
{{- $of := get $.Values $map | default dict -}}
{{- range $name, $entry := $of }}{{ if kindIs "invalid" $entry }}{{ $_ := unset $of $name }}{{ end }}{{ end -}}
{{- end -}}
{{- $endpoints := list -}}
{{- range list "jobs" "nodes" "partitions" "scheduler" }}{{ $endpoints = append $endpoints (dict "path" (printf "/metrics/%s" .)) }}{{ end -}}
{{- range $default := list
      (list .Values.vendor.nvidia.dcgm "jobMappingDir" "/var/lib/dcgm-exporter/job-mapping")
      (list .Values.vendor.nvidia.dcgm "scriptPriority" "90")
      (list .Values.networkPolicies "outside" list)
      (list .Values.priorityClass "name" "slurm-system-critical")
      (list .Values.controller.metrics.serviceMonitor "endpoints" $endpoints) -}}
{{- $of := index $default 0 -}}
{{- $key := index $default 1 -}}
{{- if has (get $of $key) (list nil "" list) }}{{ $_ := set $of $key (index $default 2) }}{{ end -}}
{{- end -}}
{{- end -}}

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
{{- if dig "enabled" true $merged }}{{ $_ := set $out $name $merged }}{{ end -}}
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
