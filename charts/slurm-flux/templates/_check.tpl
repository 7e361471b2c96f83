{{/* Checks that a schema cannot express with a clear message. */}}
{{- define "slurm-flux.check" -}}
{{- with .Values.kubeConfig -}}
{{- if and .secretRef.name .configMapRef.name }}{{ fail "kubeConfig.secretRef.name and kubeConfig.configMapRef.name are mutually exclusive" }}{{ end -}}
{{- if and .secretRef.key (not .secretRef.name) }}{{ fail "kubeConfig.secretRef.key requires kubeConfig.secretRef.name" }}{{ end -}}
{{- end -}}
{{- with .Values.source -}}
{{- if and (eq .kind "OCIRepository") (not (hasPrefix "oci://" .url)) }}{{ fail (printf "source.url must begin with oci://, unless source.kind is HelmRepository: %s" .url) }}{{ end -}}
{{- end -}}
{{- $taken := dict -}}
{{- range $release := include "slurm-flux.releases" . | fromYamlArray -}}
{{- $settings := $release.settings -}}
{{- if gt (len $release.name) 63 }}{{ fail (printf "%s: the name of the HelmRelease would be too long, %s; set a shorter fullnameOverride" $release.key $release.name) }}{{ end -}}
{{- if gt (len $settings.releaseName) 53 }}{{ fail (printf "%s.releaseName must have at most 53 characters: %s" $release.key $settings.releaseName) }}{{ end -}}
{{- $id := printf "%s/%s" $settings.namespace $settings.releaseName -}}
{{- with get $taken $id }}{{ fail (printf "%s and %s are both the Helm release %s: set releaseName or namespace" . $release.key $id) }}{{ end -}}
{{- $_ := set $taken $id $release.key -}}
{{- if and $.Values.removal.enabled (eq $release.chart "slurm") -}}
{{- with get $taken $settings.namespace }}{{ fail (printf "%s and %s are both in the namespace %s, so that neither can be removed alone: give each a namespace, or set removal.enabled=false" . $release.key $settings.namespace) }}{{ end -}}
{{- $_ := set $taken $settings.namespace $release.key -}}
{{- end -}}
{{- end -}}
{{- end -}}
