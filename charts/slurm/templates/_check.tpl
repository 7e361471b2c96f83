{{/* Checks that a schema cannot express with a clear message. */}}
{{- define "slurm.check" -}}
{{- include "slurm.checkNames" . -}}
{{- with .Values.fullnameOverride -}}
{{- if gt (len .) 40 }}{{ fail (printf "fullnameOverride: %s has more than 40 characters, which names of Services do not have room for" .) }}{{ end -}}
{{- end -}}
{{- with .Values.controller -}}
{{- if and .external (not .externalConfig.host) }}{{ fail "controller.external=true requires controller.externalConfig.host" }}{{ end -}}
{{- if and .ha.enabled (not (and (dig "enabled" true .persistence) .persistence.existingClaim)) -}}
{{- fail "controller.ha.enabled=true requires controller.persistence.existingClaim: a volume that all slurmctlds can mount" -}}
{{- end -}}
{{- if and .ha.enabled .address }}{{ fail "controller.address and controller.ha.enabled are mutually exclusive: each slurmctld needs an address of its own" }}{{ end -}}
{{- end -}}
{{- with .Values.accounting -}}
{{- if and .enabled .external (not .externalConfig.host) }}{{ fail "accounting.external=true requires accounting.externalConfig.host" }}{{ end -}}
{{- end -}}
{{- $cluster := .Values.clusterName | default (printf "%s_%s" (include "slurm.namespace" .) (include "slurm.fullname" .)) -}}
{{- if gt (len $cluster) 40 }}{{ fail (printf "set clusterName: %s has more than the 40 characters that Slurm allows" $cluster) }}{{ end -}}
{{- include "slurm.checkNodeSets" . -}}
{{- include "slurm.checkLoginSets" . -}}
{{- include "slurm.checkPartitions" . -}}
{{- end -}}

{{/* Names of values of earlier versions of Slinky's chart. */}}
{{- define "slurm.checkNames" -}}
{{- if hasKey .Values "jwtHs256Key" }}{{ fail "jwtHs256Key is not known; use jwtKey" }}{{ end -}}
{{- range $kind := list "loginset" "nodeset" -}}
{{- if hasKey (get $.Values (printf "%ss" $kind)) "_defaults" }}{{ fail (printf "%ss._defaults is not known; use %sDefaults" $kind $kind) }}{{ end -}}
{{- range $name := keys (get $.Values (printf "%ss" $kind)) -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}{{ fail (printf "%ss.%s: the name must be lower-case letters, digits and '-', and begin with a letter, as it becomes part of the names of hosts" $kind $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "slurm.checkNodeSets" -}}
{{- range $name, $values := include "slurm.nodesets" . | fromYaml -}}
{{- if eq $name "all" }}{{ fail "nodesets.all: Slurm means all nodes by this name" }}{{ end -}}
{{- with $values.autoscaling -}}
{{- if .enabled -}}
{{- if ne ($values.scalingMode | default "StatefulSet") "StatefulSet" }}{{ fail (printf "nodesets.%s.autoscaling needs scalingMode=StatefulSet: Kubernetes nodes determine the workers of %s" $name $values.scalingMode) }}{{ end -}}
{{- if gt (int .minReplicas) (int (.maxReplicas | default 10)) }}{{ fail (printf "nodesets.%s.autoscaling.minReplicas must be at most maxReplicas" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $object := include "slurm.nodeSetName" (dict "root" $ "name" $name) -}}
{{- if gt (len $object) 57 }}{{ fail (printf "nodesets.%s: the name of a worker would be too long, %s-0; set a shorter fullnameOverride" $name $object) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "slurm.checkLoginSets" -}}
{{- range $name, $values := include "slurm.loginsets" . | fromYaml -}}
{{- $object := include "slurm.loginSetName" (dict "root" $ "name" $name) -}}
{{- if gt (len $object) 63 }}{{ fail (printf "loginsets.%s: the name of its Service would be too long, %s; set a shorter fullnameOverride" $name $object) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "slurm.checkPartitions" -}}
{{- range $name, $partition := .Values.partitions -}}
{{- if regexMatch "\\s" $name }}{{ fail (printf "partitions: the name %q has white space, which Slurm does not allow" $name) }}{{ end -}}
{{- if dig "enabled" true $partition -}}
{{- if not $partition.nodesets }}{{ fail (printf "partitions.%s.nodesets is empty: name NodeSets, or ALL" $name) }}{{ end -}}
{{- range $partition.nodesets -}}
{{- if not (or (eq (upper .) "ALL") (hasKey $.Values.nodesets .)) }}{{ fail (printf "partitions.%s.nodesets names %s, which is not in nodesets: %s" $name . (keys $.Values.nodesets | sortAlpha | join ", ")) }}{{ end -}}
{{- end -}}
{{- if dig $name "partition" "enabled" false (include "slurm.nodesets" $ | fromYaml) }}{{ fail (printf "partitions.%s and nodesets.%s.partition both make the partition %s" $name $name $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
