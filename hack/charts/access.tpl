{{/* The name of cluster-scoped objects. It includes the namespace, since releases in two namespaces may share a name. */}}
{{- define "CHART.clusterName" -}}
{{- printf "%s:%s" (include "CHART.namespace" .) (include "CHART.fullname" .) -}}
{{- end -}}

{{/* The subject of role bindings. */}}
{{- define "CHART.subject" -}}
- kind: ServiceAccount
  name: {{ include "CHART.serviceAccountName" . }}
  namespace: {{ include "CHART.namespace" . }}
{{- end -}}

{{/* The Secret with the serving certificate. Each source has its own, so that an upgrade
     can switch between them. */}}
{{- define "CHART.certificateSecret" -}}
{{- if eq .Values.certificates.from "existingSecret" -}}
{{- .Values.certificates.existingSecret -}}
{{- else -}}
{{- $suffix := ternary "certificate" "tls" (eq .Values.certificates.from "selfMade") -}}
{{- printf "%s-%s" (include "CHART.fullname" . | trunc 51 | trimSuffix "-") $suffix -}}
{{- end -}}
{{- end -}}

{{/* The namespaces of the values, which may be templates, such as of the release namespace. */}}
{{- define "CHART.managedNamespaces" -}}
{{- $out := list -}}
{{- range .Values.namespaces -}}
{{- $out = append $out (tpl . $) -}}
{{- end -}}
{{- $out | uniq | toJson -}}
{{- end -}}

{{/* The namespaces whose Secrets may be read: rbac.secretNamespaces, else namespaces, else
     the release namespace. */}}
{{- define "CHART.secretNamespaces" -}}
{{- $of := include "CHART.managedNamespaces" . | fromJsonArray -}}
{{- .Values.rbac.secretNamespaces | default $of | default (list (include "CHART.namespace" .)) | uniq | toJson -}}
{{- end -}}
