{{/* Checks that a schema cannot express with a clear message. */}}
{{- define "slurm-exporter.check" -}}
{{- with .Values.slurm -}}
{{- if .simulate -}}
{{- if .url }}{{ fail "slurm.url and slurm.simulate are mutually exclusive" }}{{ end -}}
{{- if or .token.existingSecret .jwtKey.existingSecret }}{{ fail "slurm.simulate needs no token: leave slurm.token.existingSecret and slurm.jwtKey.existingSecret empty" }}{{ end -}}
{{- else -}}
{{- if not .url }}{{ fail "slurm.url is missing: set it to the address of slurmrestd, such as http://slurm-restapi.slurm:6820, or slurm.simulate to true" }}{{ end -}}
{{- if and .token.existingSecret .jwtKey.existingSecret }}{{ fail "slurm.token.existingSecret and slurm.jwtKey.existingSecret are mutually exclusive" }}{{ end -}}
{{- if not (or .token.existingSecret .jwtKey.existingSecret (hasPrefix "unix:" .url) $.Values.extraEnv) }}{{ fail "no token: set slurm.token.existingSecret or slurm.jwtKey.existingSecret to the name of a Secret" }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (not (kindIs "string" .Values.podDisruptionBudget.maxUnavailable)) (lt (int .Values.podDisruptionBudget.maxUnavailable) 1) -}}
{{- fail "podDisruptionBudget.maxUnavailable must be at least 1, or Kubernetes nodes cannot be drained" -}}
{{- end -}}
{{- $seen := dict -}}
{{- range include "slurm-exporter.args" . | fromYamlArray -}}
{{- $flag := regexFind "^--[^=]+" . -}}
{{- if and (hasKey $seen $flag) (not (has $flag (list "--compat" "--web.listen-address"))) }}{{ fail (printf "extraArgs repeats %s, which other values set" $flag) }}{{ end -}}
{{- $_ := set $seen $flag true -}}
{{- end -}}
{{- end -}}

{{/* The port of slurm.url, or the default port of its scheme; none for a socket. */}}
{{- define "slurm-exporter.restdPort" -}}
{{- $url := urlParse .Values.slurm.url -}}
{{- $port := regexFind ":[0-9]+$" (get $url "host") | trimPrefix ":" -}}
{{- if has (get $url "scheme") (list "http" "https") -}}
{{- default (ternary "443" "80" (eq (get $url "scheme") "https")) $port -}}
{{- end -}}
{{- end -}}

{{/* The flags. Empty values are left out, so the program uses its default. */}}
{{- define "slurm-exporter.args" -}}
{{- with .Values.slurm }}
{{- if .simulate }}
- --slurm.simulate
{{- else }}
- {{ printf "--slurm.url=%s" .url | quote }}
{{- if .token.existingSecret }}
- {{ printf "--slurm.token-file=/run/slurm/token/%s" .token.key | quote }}
{{- end }}
{{- if .jwtKey.existingSecret }}
- {{ printf "--slurm.jwt-key-file=/run/slurm/jwt-key/%s" .jwtKey.key | quote }}
- {{ printf "--slurm.jwt-user=%s" .jwtKey.user | quote }}
- {{ printf "--slurm.jwt-lifetime=%s" .jwtKey.lifetime | quote }}
{{- end }}
{{- if .ca.existingSecret }}
- {{ printf "--slurm.ca-file=/run/slurm/ca/%s" .ca.key | quote }}
{{- end }}
{{- if .clientCertificate.existingSecret }}
- --slurm.cert-file=/run/slurm/client-certificate/tls.crt
- --slurm.key-file=/run/slurm/client-certificate/tls.key
{{- end }}
{{- end }}
{{- with .userName }}
- {{ printf "--slurm.user-name=%s" . | quote }}
{{- end }}
{{- with .apiVersion }}
- {{ printf "--slurm.api-version=%s" . | quote }}
{{- end }}
- {{ printf "--slurm.timeout=%s" .timeout | quote }}
- {{ printf "--slurm.poll-interval=%s" .pollInterval | quote }}
- {{ printf "--slurm.slow-poll-interval=%s" .slowPollInterval | quote }}
- {{ printf "--slurm.jobs-reader=%s" .jobsReader | quote }}
{{- end }}
{{- range $name, $on := .Values.collectors }}
- --{{ if not $on }}no-{{ end }}collector.{{ $name }}
{{- end }}
{{- with .Values.cluster }}
- {{ printf "--cluster=%s" . | quote }}
{{- end }}
{{- with .Values.compat }}
- {{ printf "--compat=%s" (join "," .) | quote }}
{{- end }}
- --limit.nodes={{ int64 .Values.limits.nodes }}
- --limit.users={{ int64 .Values.limits.users }}
- --limit.accounts={{ int64 .Values.limits.accounts }}
- {{ printf "--web.listen-address=:%d" (int .Values.web.port) | quote }}
- {{ printf "--web.telemetry-path=%s" .Values.web.telemetryPath | quote }}
- --web.max-requests={{ int64 .Values.web.maxRequests }}
{{- if .Values.nativeHistograms }}
- --native-histograms
{{- end }}
{{- if .Values.web.config.existingSecret }}
- {{ printf "--web.config.file=/run/web/%s" .Values.web.config.key | quote }}
{{- end }}
- --log.level={{ .Values.log.level }}
- --log.format={{ .Values.log.format }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Mounted Secrets: name of the volume, Secret and directory. */}}
{{- define "slurm-exporter.secrets" -}}
{{- $secrets := list -}}
{{- range $name, $secret := dict "token" .Values.slurm.token "jwt-key" .Values.slurm.jwtKey "ca" .Values.slurm.ca "client-certificate" .Values.slurm.clientCertificate -}}
{{- if $secret.existingSecret -}}
{{- $secrets = append $secrets (dict "volume" $name "secret" $secret.existingSecret "path" (printf "/run/slurm/%s" $name)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.web.config.existingSecret -}}
{{- $secrets = append $secrets (dict "volume" "web-config" "secret" . "path" "/run/web") -}}
{{- end -}}
{{- $secrets | toJson -}}
{{- end -}}

{{/* The handler of a probe. */}}
{{- define "slurm-exporter.probe" -}}
{{- $config := .root.Values.web.config -}}
{{- if and $config.existingSecret (eq $config.probe "tcp") -}}
tcpSocket:
  port: metrics
{{- else -}}
httpGet:
  path: {{ .path }}
  port: metrics
  scheme: {{ ternary $config.scheme "HTTP" (ne $config.existingSecret "") }}
{{- end }}
{{- end -}}
