{{/* A map without what is not set: null, empty maps and empty lists. An explicit false, 0 or "" stays. The result
     is YAML, empty for an empty map. */}}
{{- define "slurm.prune" -}}
{{- $out := dict -}}
{{- range $key, $value := . -}}
{{- if not (or (kindIs "invalid" $value) (and (kindIs "map" $value) (empty $value)) (and (kindIs "slice" $value) (empty $value))) -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- if $out }}{{ toYaml $out }}{{ end -}}
{{- end -}}

{{/* A container of an object, as YAML: "container" has image and the fields of a container. */}}
{{- define "slurm.container" -}}
{{- $out := omit .container "image" -}}
{{- with include "slurm.image" (dict "root" .root "image" .container.image) -}}
{{- $_ := set $out "image" . -}}
{{- if not $out.imagePullPolicy }}{{ $_ := set $out "imagePullPolicy" $.root.Values.imagePullPolicy }}{{ end -}}
{{- end -}}
{{- include "slurm.prune" $out -}}
{{- end -}}

{{/* A container of which there is none without an image of its own: empty, or as slurm.container. */}}
{{- define "slurm.optionalContainer" -}}
{{- if include "slurm.image" (dict "root" .root "image" .container.image) }}{{ include "slurm.container" . }}{{ end -}}
{{- end -}}

{{/* The template of the pods of an object, as YAML: "pods" has podSpec and metadata, "hostname" is theirs unless podSpec has
     one, "volumes" are more of them. */}}
{{- define "slurm.template" -}}
{{- $spec := include "slurm.prune" .pods.podSpec | fromYaml -}}
{{- with .root.Values.imagePullSecrets }}{{ $_ := set $spec "imagePullSecrets" (concat ($spec.imagePullSecrets | default list) . | uniq) }}{{ end -}}
{{- $class := .root.Values.priorityClassName | default (ternary .root.Values.priorityClass.name "" (default false .root.Values.priorityClass.enabled)) -}}
{{- if and $class (not $spec.priorityClassName) }}{{ $_ := set $spec "priorityClassName" $class }}{{ end -}}
{{- if and .hostname (not $spec.hostname) }}{{ $_ := set $spec "hostname" .hostname }}{{ end -}}
{{- with .volumes }}{{ $_ := set $spec "volumes" (include "slurm.addItems" (dict "has" $spec.volumes "with" .) | fromYamlArray) }}{{ end -}}
{{- $metadata := include "slurm.prune" (.pods.metadata | default dict) | fromYaml -}}
{{- if .annotations }}{{ $_ := set $metadata "annotations" (merge (dict) ($metadata.annotations | default dict) .annotations) }}{{ end -}}
{{- include "slurm.prune" (dict "metadata" $metadata "spec" $spec) -}}
{{- end -}}

{{/* The Service of an object, as YAML. */}}
{{- define "slurm.service" -}}
{{- $out := include "slurm.prune" . | fromYaml -}}
{{- range $key := list "metadata" "spec" -}}
{{- if hasKey $out $key }}{{ $_ := set $out $key (include "slurm.prune" (get $out $key) | fromYaml) }}{{ end -}}
{{- end -}}
{{- include "slurm.prune" $out -}}
{{- end -}}
