{{/* Checks that a schema cannot express with a clear message. */}}
{{- define "slurm-operator.check" -}}
{{- with .Values.certificates -}}
{{- if eq .from "existingSecret" -}}
{{- if not (and .existingSecret .caBundle) }}{{ fail "certificates.from=existingSecret requires certificates.existingSecret and certificates.caBundle" }}{{ end -}}
{{- else if or .existingSecret .caBundle -}}
{{- fail (printf "certificates.existingSecret and certificates.caBundle require certificates.from=existingSecret, which is %s" .from) -}}
{{- end -}}
{{- if and (eq .from "certManager") (not .certManager.issuerRef) }}{{ fail "certificates.from=certManager requires certificates.certManager.issuerRef" }}{{ end -}}
{{- end -}}
{{- if and (not .Values.leaderElection) (gt (int .Values.replicaCount) 1) -}}
{{- fail "leaderElection is false, so replicaCount must be at most 1: two pods would both delete workers" -}}
{{- end -}}
{{- with .Values.podDisruptionBudget -}}
{{- if and .enabled (gt (int $.Values.replicaCount) 1) (not (kindIs "string" .minAvailable)) (ge (int .minAvailable) (int $.Values.replicaCount)) -}}
{{- fail "podDisruptionBudget.minAvailable must be less than replicaCount, or Kubernetes nodes cannot be drained" -}}
{{- end -}}
{{- end -}}
{{- $seen := dict -}}
{{- range include "slurm-operator.args" . | fromYamlArray -}}
{{- $flag := regexFind "^--[^=]+" . -}}
{{- if hasKey $seen $flag }}{{ fail (printf "extraArgs repeats %s, which other values set" $flag) }}{{ end -}}
{{- $_ := set $seen $flag true -}}
{{- end -}}
{{- end -}}
