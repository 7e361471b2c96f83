{{/* The image of slurm-operator, as the chart slurm-operator would choose it. */}}
{{- define "slurm-flux.operatorImage" -}}
{{- if .Values.removal.image -}}
{{- .Values.removal.image -}}
{{- else -}}
{{- $values := .Values.operator.values -}}
{{- $image := $values.image | default dict -}}
{{- $image = dict "repository" ($image.repository | default "ghcr.io/slurmtide/slurm-operator") "tag" $image.tag "digest" $image.digest -}}
{{- include "slurm-flux.image" (dict "image" $image "root" (dict "Values" $values "Chart" .Chart)) -}}
{{- end -}}
{{- end -}}

{{/* The annotations of a hook that runs before a release is removed: "weight" orders them. */}}
{{- define "slurm-flux.beforeRemoval" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* The objects of a cluster's release that delete its NodeSets and then its Controller before Helm removes the rest: at
     once, slurmrestd would go with them, and the operator could not see which workers have jobs. */}}
{{- define "slurm-flux.clusterRemoval" -}}
{{- $settings := .release.settings -}}
{{- $operator := .root.Values.operator.values -}}
{{- $name := printf "%s-removal" $settings.releaseName -}}
- apiVersion: v1
  kind: ServiceAccount
  metadata:
    name: {{ $name }}
    namespace: {{ $settings.namespace }}
    annotations:
      {{- include "slurm-flux.beforeRemoval" (dict "weight" -1) | nindent 6 }}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata:
    name: {{ $name }}
    namespace: {{ $settings.namespace }}
    annotations:
      {{- include "slurm-flux.beforeRemoval" (dict "weight" -1) | nindent 6 }}
  rules:
    - apiGroups: [slinky.slurm.net]
      resources: [controllers, nodesets]
      verbs: [list, delete]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata:
    name: {{ $name }}
    namespace: {{ $settings.namespace }}
    annotations:
      {{- include "slurm-flux.beforeRemoval" (dict "weight" -1) | nindent 6 }}
  roleRef:
    apiGroup: rbac.authorization.k8s.io
    kind: Role
    name: {{ $name }}
  subjects:
    - kind: ServiceAccount
      name: {{ $name }}
      namespace: {{ $settings.namespace }}
- apiVersion: batch/v1
  kind: Job
  metadata:
    name: {{ $name }}
    namespace: {{ $settings.namespace }}
    annotations:
      {{- include "slurm-flux.beforeRemoval" (dict "weight" 0) | nindent 6 }}
  spec:
    # It waits for jobs until Helm gives up and takes its rights away. Flux then runs it again.
    backoffLimit: 3
    template:
      spec:
        restartPolicy: Never
        serviceAccountName: {{ $name }}
        automountServiceAccountToken: true
        enableServiceLinks: false
        {{- with $settings.values.imagePullSecrets }}
        imagePullSecrets:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        securityContext:
          runAsNonRoot: true
          runAsUser: 65532
          runAsGroup: 65532
          seccompProfile:
            type: RuntimeDefault
        containers:
          - name: delete-clusters
            image: {{ include "slurm-flux.operatorImage" .root | quote }}
            args:
              - delete-clusters
              - --release={{ $settings.releaseName }}
              - --release-namespace={{ $settings.namespace }}
              - --namespaces={{ $settings.namespace }}
            resources:
              requests:
                cpu: 10m
                memory: 32Mi
              limits:
                memory: 256Mi
            securityContext:
              allowPrivilegeEscalation: false
              readOnlyRootFilesystem: true
              capabilities:
                drop: [ALL]
        {{- with $operator.nodeSelector }}
        nodeSelector:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        {{- with $operator.tolerations }}
        tolerations:
          {{- toYaml . | nindent 10 }}
        {{- end }}
{{- end -}}
