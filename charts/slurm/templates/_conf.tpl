{{/* The value of an option of Slurm: a list is joined by commas, without its empty items. YAML reads an unquoted YES as true. */}}
{{- define "slurm.optionValue" -}}
{{- if kindIs "slice" . -}}
{{- $parts := list -}}
{{- range . }}{{ $parts = append $parts (include "slurm.optionValue" .) }}{{ end -}}
{{- compact $parts | join "," -}}
{{- else if kindIs "bool" . -}}
{{- ternary "YES" "NO" . -}}
{{- else if and (kindIs "float64" .) (eq (float64 (int64 .)) .) -}}
{{- int64 . -}}
{{- else if not (kindIs "invalid" .) -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* The options of a map as a JSON list of KEY=VALUE. Options without a value are left out: null, "" and an empty list. */}}
{{- define "slurm.optionList" -}}
{{- $out := list -}}
{{- range $key, $value := . -}}
{{- with include "slurm.optionValue" $value }}{{ $out = append $out (printf "%s=%s" $key .) }}{{ end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* Lines of a configuration file: extraConf, or else those of extraConfMap. */}}
{{- define "slurm.confLines" -}}
{{- trimSuffix "\n" (.extraConf | default (include "slurm.optionList" .extraConfMap | fromJsonArray | join "\n")) -}}
{{- end -}}

{{/* Options of one line: "text", or else those of "map". */}}
{{- define "slurm.confLine" -}}
{{- trim (.text | default (include "slurm.optionList" .map | fromJsonArray | join " ")) -}}
{{- end -}}

{{/* Lines of slurm.conf about NodeSets and partitions. slurm.conf names NodeSets by the names of the objects, users by
     those in the values. So each NodeSet has a second name, for lines of users, and its partition the name in the values.
     Partitions name the NodeSets themselves, by which demand finds those without workers. */}}
{{- define "slurm.partitionLines" -}}
{{- $root := . -}}
{{- $lines := list -}}
{{- $nodesets := include "slurm.nodesets" . | fromYaml -}}
{{- range $name, $nodeset := $nodesets -}}
{{- $object := include "slurm.nodeSetName" (dict "root" $root "name" $name) -}}
{{- if $root.Values.controller.external }}{{ $lines = append $lines (printf "NodeSet=%s Feature=%s" $object $object) }}{{ end -}}
{{- $lines = append $lines (printf "NodeSet=%s Feature=%s" $name $object) -}}
{{- if $nodeset.partition.enabled -}}
{{- $options := include "slurm.confLine" (dict "text" $nodeset.partition.config "map" $nodeset.partition.configMap) -}}
{{- $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" $name $object $options | trim) -}}
{{- end -}}
{{- end -}}
{{- range $name, $partition := .Values.partitions -}}
{{- if dig "enabled" true $partition -}}
{{- $nodes := list -}}
{{- range $partition.nodesets -}}
{{- if eq (upper .) "ALL" }}{{ $nodes = append $nodes "ALL" -}}
{{- else if hasKey $nodesets . }}{{ $nodes = append $nodes (include "slurm.nodeSetName" (dict "root" $root "name" .)) }}{{ end -}}
{{- end -}}
{{- if $nodes -}}
{{- $options := include "slurm.confLine" (dict "text" $partition.config "map" $partition.configMap) -}}
{{- $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" $name (join "," $nodes) $options | trim) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{/* All that the chart adds to slurm.conf. */}}
{{- define "slurm.slurmConf" -}}
{{- $lines := compact (list (include "slurm.confLines" .Values.controller) (include "slurm.partitionLines" .)) -}}
{{- join "\n" $lines -}}
{{- end -}}
