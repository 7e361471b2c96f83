{{/* What is set and has no effect, or surprises, as a YAML list of sentences. */}}
{{- define "slurm.warnings" -}}
{{- $out := list -}}
{{- $values := .Values -}}
{{- range $key := list "slurmKey" "jwtKey" -}}
{{- if (get $values $key).annotations }}{{ $out = append $out (printf "%s.annotations has no effect: the operator makes the Secret. Annotate it with kubectl." $key) }}{{ end -}}
{{- end -}}
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
{{- if and $nodeset.ssh.enabled $values.controller.external }}{{ $out = append $out (printf "nodesets.%s.ssh.enabled=true and controller.external=true: add PrologFlags=Contain to slurm.conf of that slurmctld, without which nobody can log in." $name) }}{{ end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
