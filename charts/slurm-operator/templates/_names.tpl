{{/* The name of the ValidatingWebhookConfiguration: a DNS name, and one per release. */}}
{{- define "slurm-operator.webhooks" -}}
{{- printf "%s.%s" (include "slurm-operator.fullname" .) (include "slurm-operator.namespace" .) -}}
{{- end -}}

