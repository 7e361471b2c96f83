{{/* The flags. Empty values are left out, so the program uses its default. */}}
{{- define "slurm-operator.args" -}}
{{- with include "slurm-operator.managedNamespaces" . | fromJsonArray }}
- {{ printf "--namespaces=%s" (join "," .) | quote }}
{{- end }}
- --kube.qps={{ .Values.kube.qps }}
- --kube.burst={{ int .Values.kube.burst }}
{{- if not .Values.upgradeDefinitions }}
- --no-upgrade-definitions
{{- end }}
{{- if not .Values.leaderElection }}
- --no-leader-election
{{- end }}
- --health.listen-address=:8081
- --metrics.listen-address=:{{ int .Values.metrics.port }}
{{- if not .Values.metrics.secure }}
- --no-metrics.secure
{{- end }}
{{- include "slurm-operator.webhookArgs" . }}
{{- with .Values.slurm }}
- {{ printf "--slurm.user=%s" .user | quote }}
- {{ printf "--slurm.jwt-lifetime=%s" .jwtLifetime | quote }}
{{- with .apiVersion }}
- {{ printf "--slurm.api-version=%s" . | quote }}
{{- end }}
- {{ printf "--slurm.timeout=%s" .timeout | quote }}
- {{ printf "--slurm.poll-interval=%s" .pollInterval | quote }}
- --slurm.jobs-reader={{ .jobsReader }}
{{- end }}
{{- with .Values.rbac.execNamespaces }}
- {{ printf "--slurm.exec-namespaces=%s" (join "," .) | quote }}
{{- end }}
{{- include "slurm-operator.nodeSetArgs" . }}
{{- include "slurm-operator.controlPlaneArgs" . }}
{{- with .Values.wakeup }}
- {{ printf "--wakeup.look-interval=%s" .lookInterval | quote }}
- {{ printf "--wakeup.stale-after=%s" .staleAfter | quote }}
- {{ printf "--wakeup.timeout=%s" .timeout | quote }}
{{- end }}
- --log.level={{ .Values.log.level }}
- --log.format={{ .Values.log.format }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Flags of the NodeSet reconciler. */}}
{{- define "slurm-operator.nodeSetArgs" -}}
{{- with .Values.nodeSet }}
{{- with .image }}
- {{ printf "--nodeset.image=%s" . | quote }}
{{- end }}
- {{ printf "--nodeset.cluster-domain=%s" .clusterDomain | quote }}
- {{ printf "--nodeset.stale-after=%s" .staleAfter | quote }}
{{- with .propagatedConditions }}
- {{ printf "--nodeset.propagated-conditions=%s" (join "," .) | quote }}
{{- end }}
- {{ printf "--nodeset.register-within=%s" .registerWithin | quote }}
- --nodeset.brake-share={{ .brakeShare }}
- {{ printf "--nodeset.brake-interval=%s" .brakeInterval | quote }}
- --nodeset.concurrency={{ int .concurrency }}
- --nodeset.parallel-writes={{ int .parallelWrites }}
{{- end }}
{{- end -}}

{{/* Flags of the reconcilers that run Slurm's own daemons. */}}
{{- define "slurm-operator.controlPlaneArgs" -}}
{{- with .Values.controlPlane }}
{{- if not .enabled }}
- --reconcilers=nodeset,wakeup,cluster,token
{{- else }}
{{- $namespaces := include "slurm-operator.secretNamespaces" $ | fromJsonArray }}
{{- if not (has "*" $namespaces) }}
- {{ printf "--daemon-namespaces=%s" (join "," $namespaces) | quote }}
{{- end }}
- {{ printf "--controller.agent-image=%s" (include "slurm-operator.image" (dict "root" $ "image" .agentImage)) | quote }}
{{- with .slurmctldImage }}
- {{ printf "--controller.image=%s" . | quote }}
{{- end }}
{{- with .slurmrestdImage }}
- {{ printf "--restapi.image=%s" . | quote }}
{{- end }}
{{- with .slurmdbdImage }}
- {{ printf "--accounting.image=%s" . | quote }}
{{- end }}
{{- with .loginImage }}
- {{ printf "--loginset.image=%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Flags of the webhooks and of their certificate. */}}
{{- define "slurm-operator.webhookArgs" -}}
{{- if .Values.webhook.enabled }}
- --webhook.port={{ int .Values.webhook.port }}
- {{ printf "--webhook.service=%s" (include "slurm-operator.fullname" .) | quote }}
- {{ printf "--webhook.configuration=%s" (include "slurm-operator.webhooks" .) | quote }}
{{- if eq .Values.certificates.from "selfMade" }}
- {{ printf "--webhook.secret=%s" (include "slurm-operator.certificateSecret" .) | quote }}
{{- else }}
- --webhook.cert-dir=/run/tls
{{- end }}
{{- else }}
- --no-webhook
{{- end }}
{{- end -}}
