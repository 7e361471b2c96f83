{{/* The ConfigMaps with files and scripts, as a YAML list: "name" of the ConfigMap that the chart makes, its "data", the
     "field" of the Controller and all its "refs". Names of scripts get a prefix, since all files of a cluster are in one folder. */}}
{{- define "slurm.files" -}}
{{- $v := .Values -}}
{{- $fullname := include "slurm.fullname" . -}}
{{- $dcgm := $v.vendor.nvidia.dcgm -}}
{{- $prologs := $v.prologScripts -}}
{{- $epilogs := $v.epilogScripts -}}
{{- if $dcgm.enabled -}}
{{- $script := printf "%s-dcgm.sh" (toString $dcgm.scriptPriority) -}}
{{- $prologs = merge (dict $script (include "slurm.dcgmProlog" $dcgm)) $prologs -}}
{{- $epilogs = merge (dict $script (include "slurm.dcgmEpilog" $dcgm)) $epilogs -}}
{{- end -}}
{{- $configs := $v.configFiles -}}
{{- range $machine, $sets := $v.vendor.google }}{{ if $sets }}{{ $configs = merge (dict) $configs (dict "gres.conf" "AutoDetect=nvidia\n") }}{{ end }}{{ end -}}
{{- $out := list -}}
{{- range $files := list
  (dict "suffix" "config-extra" "prefix" "" "field" "configFileRefs" "data" $configs "refs" list)
  (dict "suffix" "prolog-slurmctld-scripts" "prefix" "prolog-slurmctld-" "field" "prologSlurmctldScriptRefs" "data" $v.prologSlurmctldScripts "refs" $v.prologSlurmctldScriptRefs)
  (dict "suffix" "epilog-slurmctld-scripts" "prefix" "epilog-slurmctld-" "field" "epilogSlurmctldScriptRefs" "data" $v.epilogSlurmctldScripts "refs" $v.epilogSlurmctldScriptRefs)
  (dict "suffix" "prolog-scripts" "prefix" "prolog-" "field" "prologScriptRefs" "data" $prologs "refs" $v.prologScriptRefs)
  (dict "suffix" "epilog-scripts" "prefix" "epilog-" "field" "epilogScriptRefs" "data" $epilogs "refs" $v.epilogScriptRefs) -}}
{{- $name := printf "%s-%s" $fullname $files.suffix -}}
{{- $refs := $files.refs | default list -}}
{{- if $files.data }}{{ $refs = append $refs (dict "name" $name) }}{{ end -}}
{{- $data := dict -}}
{{- range $file, $text := $files.data }}{{ $_ := set $data (printf "%s%s" $files.prefix $file) $text }}{{ end -}}
{{- $out = append $out (dict "name" $name "field" $files.field "data" $data "refs" $refs) -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* dcgm-exporter reads the job of a GPU from a file with the number of the GPU (its flag --hpc-job-mapping-dir). */}}
{{- define "slurm.dcgmProlog" -}}
#!/bin/sh
# Tells dcgm-exporter which job has which GPU of this node.
dir={{ .jobMappingDir | squote }}
mkdir -p "$dir" || exit 0
for gpu in $(echo "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
    echo "$SLURM_JOB_ID" >>"$dir/$gpu"
done
exit 0
{{ end -}}

{{- define "slurm.dcgmEpilog" -}}
#!/bin/sh
# Tells dcgm-exporter that the job does not have its GPUs of this node any more.
dir={{ .jobMappingDir | squote }}
for gpu in $(echo "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
    [ -f "$dir/$gpu" ] || continue
    sed -i "/^$SLURM_JOB_ID\$/d" "$dir/$gpu"
    [ -s "$dir/$gpu" ] || rm -f "$dir/$gpu"
done
exit 0
{{ end -}}

{{/* The volume in which the scripts of a worker with GPUs write, and its mount, as YAML: the folder of the Kubernetes node in
     which dcgm-exporter looks. */}}
{{- define "slurm.jobMapping" -}}
{{- $dcgm := .root.Values.vendor.nvidia.dcgm -}}
{{- $hasGPUs := false -}}
{{- range $resource, $count := dig "resources" "limits" dict (.nodeset.slurmd | default dict) }}{{ if hasPrefix "nvidia.com/" $resource }}{{ $hasGPUs = true }}{{ end }}{{ end -}}
{{- $isMounted := false -}}
{{- range (.nodeset.slurmd | default dict).volumeMounts }}{{ if eq (trimSuffix "/" .mountPath) (trimSuffix "/" $dcgm.jobMappingDir) }}{{ $isMounted = true }}{{ end }}{{ end -}}
{{- if and $dcgm.enabled $hasGPUs (not $isMounted) -}}
volumes:
  - name: dcgm-job-mapping
    hostPath: {path: {{ $dcgm.jobMappingDir | quote }}, type: DirectoryOrCreate}
volumeMounts:
  - {name: dcgm-job-mapping, mountPath: {{ $dcgm.jobMappingDir | quote }}}
{{- end -}}
{{- end -}}

{{/* The annotations by which Prometheus finds slurmctld's pods, as YAML. One annotation holds one path. */}}
{{- define "slurm.scrapeAnnotations" -}}
{{- with .Values.controller.metrics -}}
{{- if and .enabled .scrapeAnnotations -}}
prometheus.io/scrape: "true"
prometheus.io/port: {{ int ($.Values.controller.service.port | default 6817) | quote }}
prometheus.io/path: {{ (first .serviceMonitor.endpoints).path | quote }}
{{- end -}}
{{- end -}}
{{- end -}}
