{{/* Checks that a schema cannot express with a clear message. */}}
{{- define "slurm-metrics.check" -}}
{{- with .Values.slurm -}}
{{- $secrets := compact (list .token.existingSecret .jwtKey.existingSecret .ca.existingSecret .clientCertificate.existingSecret) -}}
{{- if .url -}}
{{- if and .token.existingSecret .jwtKey.existingSecret }}{{ fail "slurm.token.existingSecret and slurm.jwtKey.existingSecret are mutually exclusive" }}{{ end -}}
{{- if not (or .token.existingSecret .jwtKey.existingSecret (hasPrefix "unix:" .url) $.Values.extraEnv) }}{{ fail "no token: set slurm.token.existingSecret or slurm.jwtKey.existingSecret to the name of a Secret" }}{{ end -}}
{{- else if or $secrets .cluster .userName -}}
{{- fail "slurm.cluster, slurm.userName and the Secrets in slurm require slurm.url, which is empty: Clusters and Controllers name their own Secrets" -}}
{{- end -}}
{{- end -}}
{{- with .Values.certificates -}}
{{- if eq .from "existingSecret" -}}
{{- if not (and .existingSecret .caBundle) }}{{ fail "certificates.from=existingSecret requires certificates.existingSecret and certificates.caBundle" }}{{ end -}}
{{- else if or .existingSecret .caBundle -}}
{{- fail (printf "certificates.existingSecret and certificates.caBundle require certificates.from=existingSecret, which is %s" .from) -}}
{{- end -}}
{{- if and (eq .from "certManager") (not .certManager.issuerRef) }}{{ fail "certificates.from=certManager requires certificates.certManager.issuerRef" }}{{ end -}}
{{- end -}}
{{- if le (int .Values.terminationGracePeriodSeconds) (include "slurm-metrics.seconds" .Values.shutdownDelay | int) -}}
{{- fail "terminationGracePeriodSeconds must be more than shutdownDelay, or pods are killed while they serve" -}}
{{- end -}}
{{- with .Values.podDisruptionBudget -}}
{{- if and .enabled (gt (int $.Values.replicaCount) 1) (not (kindIs "string" .minAvailable)) (ge (int .minAvailable) (int $.Values.replicaCount)) -}}
{{- fail "podDisruptionBudget.minAvailable must be less than replicaCount, or Kubernetes nodes cannot be drained" -}}
{{- end -}}
{{- end -}}
{{- $seen := dict -}}
{{- range include "slurm-metrics.args" . | fromYamlArray -}}
{{- $flag := regexFind "^--[^=]+" . -}}
{{- if and (hasKey $seen $flag) (not (has $flag (list "--compat" "--metrics.listen-address"))) }}{{ fail (printf "extraArgs repeats %s, which other values set" $flag) }}{{ end -}}
{{- $_ := set $seen $flag true -}}
{{- end -}}
{{- end -}}

{{/* A duration such as 1m30s in whole seconds. */}}
{{- define "slurm-metrics.seconds" -}}
{{- $total := 0.0 -}}
{{- range regexFindAll "[0-9.]+[a-z]+" . -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $total = addf $total (mulf (trimSuffix $unit . | float64) (get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0) $unit)) -}}
{{- end -}}
{{- ceil $total | int -}}
{{- end -}}

{{/* The port of slurm.url, or the default port of its scheme; none for a socket or an empty URL. */}}
{{- define "slurm-metrics.restdPort" -}}
{{- with .Values.slurm.url -}}
{{- $url := urlParse . -}}
{{- if has (get $url "scheme") (list "http" "https") -}}
{{- default (ternary "443" "80" (eq (get $url "scheme") "https")) (regexFind ":[0-9]+$" (get $url "host") | trimPrefix ":") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Mounted Secrets: name of the volume, Secret and directory. */}}
{{- define "slurm-metrics.secrets" -}}
{{- $secrets := list -}}
{{- range $name, $secret := dict "token" .Values.slurm.token "jwt-key" .Values.slurm.jwtKey "ca" .Values.slurm.ca "client-certificate" .Values.slurm.clientCertificate -}}
{{- if $secret.existingSecret -}}
{{- $secrets = append $secrets (dict "volume" $name "secret" $secret.existingSecret "path" (printf "/run/slurm/%s" $name)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.exporter.config.existingSecret -}}
{{- $secrets = append $secrets (dict "volume" "web-config" "secret" . "path" "/run/web") -}}
{{- end -}}
{{- if ne .Values.certificates.from "selfMade" -}}
{{- $secrets = append $secrets (dict "volume" "tls" "secret" (include "slurm-metrics.certificateSecret" .) "path" "/run/tls") -}}
{{- end -}}
{{- $secrets | toJson -}}
{{- end -}}

{{/* The headless Service with the addresses of all replicas. */}}
{{- define "slurm-metrics.peersService" -}}
{{- printf "%s-peers" (include "slurm-metrics.fullname" . | trunc 57 | trimSuffix "-") -}}
{{- end -}}

{{/* The API versions that are served: a list of {group, version, priority}. */}}
{{- define "slurm-metrics.apis" -}}
{{- $apis := list -}}
{{- if .Values.customMetrics.enabled -}}
{{- $apis = append $apis (dict "group" "custom.metrics.k8s.io" "version" "v1beta1" "priority" 100) -}}
{{- $apis = append $apis (dict "group" "custom.metrics.k8s.io" "version" "v1beta2" "priority" 200) -}}
{{- end -}}
{{- if .Values.externalMetrics.enabled -}}
{{- $apis = append $apis (dict "group" "external.metrics.k8s.io" "version" "v1beta1" "priority" 100) -}}
{{- end -}}
{{- if .Values.view.enabled -}}
{{- $apis = append $apis (dict "group" "view.slinky.slurm.net" "version" "v1alpha1" "priority" 100) -}}
{{- end -}}
{{- $apis | toJson -}}
{{- end -}}
