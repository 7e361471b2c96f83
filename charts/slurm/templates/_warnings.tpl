{{/* What is set and has no effect, or surprises, as a YAML list of sentences. */}}
{{- define "slurm.warnings" -}}
{{- $out := list -}}
{{- $values := .Values -}}
{{- range $key := list "slurmKey" "jwtKey" -}}
{{- if or $values.controller.external (not (dig "create" true (get $values $key))) -}}
{{- $ref := include (printf "slurm.%sRef" $key) $ | fromYaml -}}
{{- if eq $ref.name (printf "%s-auth-%s" (include "slurm.fullname" $) (trimSuffix "Key" $key)) -}}
{{- $out = append $out (printf "nobody generates the Secret %s with the key %s (%s.secretRef): make it, with the key that the daemons of the cluster have." $ref.name $ref.key $key) -}}
{{- end -}}
{{- end -}}
{{- if (get $values $key).annotations }}{{ $out = append $out (printf "%s.annotations has no effect: the operator makes the Secret. Annotate it with kubectl." $key) }}{{ end -}}
{{- end -}}
{{- range $path := include "slurm.unusedMaps" . | fromYamlArray }}{{ $out = append $out (printf "%s has no effect: the text beside it takes its place." $path) }}{{ end -}}
{{- with $values.restapi -}}
{{- if and .pdb.enabled (kindIs "invalid" .pdb.maxUnavailable) (not (kindIs "string" .pdb.minAvailable)) (ge (int .pdb.minAvailable) (int .replicas)) -}}
{{- $out = append $out "restapi.pdb lets no pod of slurmrestd be evicted, so that Kubernetes nodes cannot be drained: restapi.replicas should be more than restapi.pdb.minAvailable." -}}
{{- end -}}
{{- end -}}
{{- if $values.controller.external -}}
{{- with include "slurm.partitionLines" . -}}
{{- $out = append $out (printf "controller.external=true: add these lines to slurm.conf of that slurmctld:\n%s" (. | nindent 2)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $nodeset := include "slurm.nodesets" . | fromYaml -}}
{{- if $nodeset.taintKubeNodes }}{{ $out = append $out (printf "nodesets.%s.taintKubeNodes has no effect: taint the Kubernetes nodes, and give podSpec.tolerations." $name) }}{{ end -}}
{{- if and (hasKey $nodeset "useResourceLimits") (not $nodeset.useResourceLimits) }}{{ $out = append $out (printf "nodesets.%s.useResourceLimits has no effect: a Slurm node has what the limits of its slurmd allow." $name) }}{{ end -}}
{{- if and $nodeset.ssh.enabled $values.controller.external }}{{ $out = append $out (printf "nodesets.%s.ssh.enabled=true and controller.external=true: add PrologFlags=Contain to slurm.conf of that slurmctld, without which nobody can log in." $name) }}{{ end -}}
{{- end -}}
{{- with include "slurm.refusedPods" . }}{{ $out = append $out . }}{{ end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* What the pod security standard of the namespace refuses, and what to do about it; empty for nothing, and without a cluster. */}}
{{- define "slurm.refusedPods" -}}
{{- $namespace := include "slurm.namespace" . -}}
{{- $level := dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "" (lookup "v1" "Namespace" "" $namespace | default dict) -}}
{{- $refused := list -}}
{{- if has $level (list "baseline" "restricted") -}}
{{- range $name, $nodeset := include "slurm.nodesets" . | fromYaml -}}
{{- if or (eq $level "restricted") (ne (toString $nodeset.securityProfile) "Unprivileged") }}{{ $refused = append $refused (printf "the workers of %s" $name) }}{{ end -}}
{{- end -}}
{{- if and (eq $level "restricted") (include "slurm.loginsets" . | fromYaml) }}{{ $refused = append $refused "login pods" }}{{ end -}}
{{- if and (eq $level "restricted") .Values.sssd.daemons }}{{ $refused = append $refused "slurmctld and slurmrestd with sssd.daemons=true" }}{{ end -}}
{{- end -}}
{{- with $refused -}}
namespace {{ $namespace }} enforces the pod security standard {{ $level }}, which refuses {{ join ", " . }}: slurmd confines jobs as a privileged container, and login pods need baseline. Run kubectl label namespace {{ $namespace }} --overwrite pod-security.kubernetes.io/enforce=privileged. With nodesetDefaults.securityProfile=Unprivileged, baseline is enough, and jobs are not confined (docs/platforms.md).
{{- end -}}
{{- end -}}

{{/* The paths of maps of options beside which there is a text, as a YAML list. */}}
{{- define "slurm.unusedMaps" -}}
{{- $out := list -}}
{{- range $path, $of := dict "controller" .Values.controller "accounting" .Values.accounting }}{{ if and $of.extraConf $of.extraConfMap }}{{ $out = append $out (printf "%s.extraConfMap" $path) }}{{ end }}{{ end -}}
{{- range $name, $set := include "slurm.nodesets" . | fromYaml -}}
{{- if and $set.extraConf $set.extraConfMap }}{{ $out = append $out (printf "nodesets.%s.extraConfMap" $name) }}{{ end -}}
{{- if and $set.partition.config $set.partition.configMap }}{{ $out = append $out (printf "nodesets.%s.partition.configMap" $name) }}{{ end -}}
{{- end -}}
{{- range $name, $partition := .Values.partitions -}}
{{- if and $partition.config $partition.configMap (ne (toJson $partition.configMap) `{"Default":"YES","MaxTime":"UNLIMITED"}`) }}{{ $out = append $out (printf "partitions.%s.configMap" $name) }}{{ end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
