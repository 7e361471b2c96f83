{{/* The flags. Empty values are left out, so the program uses its default. */}}
{{- define "slurm-metrics.args" -}}
- {{ printf "--metrics-max-age=%s" .Values.maxAge | quote }}
- {{ printf "--idle-grace=%s" .Values.idleGrace | quote }}
- {{ printf "--reservation-lead=%s" .Values.reservationLead | quote }}
{{- if .Values.externalMetrics.enabled }}
- --external-metrics
{{- end }}
{{- with .Values.view }}
{{- if .enabled }}
- {{ printf "--view.private-data=%s" .privateData | quote }}
{{- with .userPrefix }}
- {{ printf "--view.user-prefix=%s" . | quote }}
{{- end }}
{{- with .namespace }}
- {{ printf "--view.namespace=%s" . | quote }}
{{- end }}
{{- if (.actions | default dict).enabled }}
- --view.actions
{{- end }}
- {{ printf "--view.peers=%s.%s.svc:%d" (include "slurm-metrics.peersService" $) (include "slurm-metrics.namespace" $) (int $.Values.securePort) | quote }}
{{- else }}
- --no-view
{{- end }}
{{- end }}
{{- include "slurm-metrics.slurmArgs" . }}
- --kube.qps={{ .Values.kube.qps }}
- --kube.burst={{ int .Values.kube.burst }}
- --secure-port={{ int .Values.securePort }}
- {{ printf "--certificate.service=%s" (include "slurm-metrics.fullname" .) | quote }}
{{- if eq .Values.certificates.from "selfMade" }}
- {{ printf "--certificate.secret=%s" (include "slurm-metrics.certificateSecret" .) | quote }}
{{- else }}
- --tls-cert-file=/run/tls/tls.crt
- --tls-private-key-file=/run/tls/tls.key
{{- end }}
- {{ printf "--shutdown-delay=%s" .Values.shutdownDelay | quote }}
{{- include "slurm-metrics.exporterArgs" . }}
- --log.level={{ .Values.log.level }}
- --log.format={{ .Values.log.format }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Flags for reading Slurm. */}}
{{- define "slurm-metrics.slurmArgs" -}}
{{- with .Values.slurm }}
{{- if .url }}
- {{ printf "--slurm.url=%s" .url | quote }}
{{- with .cluster }}
- {{ printf "--cluster-namespace=%s" (splitList "/" . | first) | quote }}
- {{ printf "--cluster-name=%s" (splitList "/" . | last) | quote }}
{{- end }}
{{- if .token.existingSecret }}
- {{ printf "--slurm.token-file=/run/slurm/token/%s" .token.key | quote }}
{{- end }}
{{- if .jwtKey.existingSecret }}
- {{ printf "--slurm.jwt-key-file=/run/slurm/jwt-key/%s" .jwtKey.key | quote }}
{{- end }}
{{- with .userName }}
- {{ printf "--slurm.user-name=%s" . | quote }}
{{- end }}
{{- if .ca.existingSecret }}
- {{ printf "--slurm.ca-file=/run/slurm/ca/%s" .ca.key | quote }}
{{- end }}
{{- if .clientCertificate.existingSecret }}
- --slurm.cert-file=/run/slurm/client-certificate/tls.crt
- --slurm.key-file=/run/slurm/client-certificate/tls.key
{{- end }}
{{- end }}
- {{ printf "--slurm.user=%s" .jwtUser | quote }}
- {{ printf "--slurm.jwt-lifetime=%s" .jwtLifetime | quote }}
{{- with .apiVersion }}
- {{ printf "--slurm.api-version=%s" . | quote }}
{{- end }}
- {{ printf "--slurm.timeout=%s" .timeout | quote }}
- {{ printf "--slurm.poll-interval=%s" .pollInterval | quote }}
- {{ printf "--slurm.slow-poll-interval=%s" .slowPollInterval | quote }}
- --slurm.jobs-reader={{ .jobsReader }}
{{- end }}
{{- end -}}

{{/* Flags of the metrics endpoint. */}}
{{- define "slurm-metrics.exporterArgs" -}}
{{- with .Values.exporter }}
- {{ printf "--metrics.listen-address=:%d" (int .port) | quote }}
- --metrics.max-requests={{ int64 .maxRequests }}
{{- if .nativeHistograms }}
- --native-histograms
{{- end }}
{{- if .config.existingSecret }}
- {{ printf "--metrics.config-file=/run/web/%s" .config.key | quote }}
{{- end }}
{{- range $name, $on := .collectors }}
- --{{ if not $on }}no-{{ end }}collector.{{ $name }}
{{- end }}
{{- with .compat }}
- {{ printf "--compat=%s" (join "," .) | quote }}
{{- end }}
- --limit.nodes={{ int64 .limits.nodes }}
- --limit.users={{ int64 .limits.users }}
- --limit.accounts={{ int64 .limits.accounts }}
{{- end }}
{{- end -}}
