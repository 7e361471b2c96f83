{{/* What NodeSets of Google's GPU machines need beyond their values, by the documentation of GKE (GPUDirect-TCPXO and
     GPUDirect-RDMA): a network interface for each GPU, the driver's libraries, and all GPUs of the machine. */}}

{{/* The values of a NodeSet of such machines, as YAML: "machine" is a3mega or a3ultra, "of" its entry in vendor.google. */}}
{{- define "slurm.googleValues" -}}
{{- $path := printf "vendor.google.%s" .machine -}}
{{- if not .of.targetNodeSet }}{{ fail (printf "%s: each entry names its NodeSet in targetNodeSet" $path) }}{{ end -}}
{{- if ne (len (.of.networks | default list)) 9 }}{{ fail (printf "%s: the entry of %s names 9 networks, that of eth0 and one for each GPU" $path .of.targetNodeSet) }}{{ end -}}
{{- $interfaces := list -}}
{{- range $at, $network := .of.networks }}{{ $interfaces = append $interfaces (dict "interfaceName" (printf "eth%d" $at) "network" $network) }}{{ end -}}
{{- $annotations := dict "networking.gke.io/default-interface" "eth0" "networking.gke.io/interfaces" (toJson $interfaces) -}}
{{- $machine := include (printf "slurm.google.%s" .machine) . | fromYaml -}}
{{- $annotations = merge $annotations ($machine.annotations | default dict) -}}
{{- $slurmd := merge (dict "resources" (dict "limits" (dict "nvidia.com/gpu" 8) "requests" (dict "nvidia.com/gpu" 8))) $machine.slurmd -}}
{{- $podSpec := $machine.podSpec -}}
{{- with .of.nodePool }}{{ $_ := set $podSpec "nodeSelector" (dict "cloud.google.com/gke-nodepool" .) }}{{ end -}}
{{- toYaml (dict "metadata" (dict "annotations" $annotations) "slurmd" $slurmd "podSpec" $podSpec "extraConfMap" $machine.extraConfMap) -}}
{{- end -}}

{{- define "slurm.google.a3mega" -}}
annotations:
  devices.gke.io/container.tcpxo-daemon: |
    - path: /dev/nvidia0
    - path: /dev/nvidia1
    - path: /dev/nvidia2
    - path: /dev/nvidia3
    - path: /dev/nvidia4
    - path: /dev/nvidia5
    - path: /dev/nvidia6
    - path: /dev/nvidia7
    - path: /dev/nvidiactl
    - path: /dev/nvidia-uvm
    - path: /dev/dmabuf_import_helper
extraConfMap: {Gres: "gpu:nvidia_h100_80gb_hbm3:8"}
slurmd:
  env:
    - {name: LD_LIBRARY_PATH, value: /usr/local/nvidia/lib64}
    - {name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY, value: /dev/aperture_devices}
  volumeMounts:
    - {name: aperture-devices, mountPath: /dev/aperture_devices}
podSpec:
  containers:
    - name: tcpxo-daemon
      image: {{ include "slurm.image" (dict "root" .root "image" "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21") }}
      imagePullPolicy: Always
      command: [/bin/sh, -c]
      args:
        - |
          set -ex
          chmod 755 /fts/entrypoint_rxdm_container.sh
          /fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics=8 --uid= --alsologtostderr
      env:
        - {name: LD_LIBRARY_PATH, value: /usr/local/nvidia/lib64}
      securityContext:
        capabilities:
          add: [NET_ADMIN, NET_BIND_SERVICE]
      volumeMounts:
        - {name: libraries, mountPath: /usr/local/nvidia/lib64}
        - {name: sys, mountPath: /hostsysfs}
        - {name: proc-sys, mountPath: /hostprocsysfs}
  volumes:
    - {name: libraries, hostPath: {path: /home/kubernetes/bin/nvidia/lib64}}
    - {name: sys, hostPath: {path: /sys}}
    - {name: proc-sys, hostPath: {path: /proc/sys}}
    - {name: aperture-devices, hostPath: {path: /dev/aperture_devices}}
{{- end -}}

{{- define "slurm.google.a3ultra" -}}
extraConfMap: {Gres: "gpu:nvidia_h200:8"}
slurmd:
  env:
    - {name: LD_LIBRARY_PATH, value: /usr/local/nvidia/lib64}
    - {name: PATH, value: "/usr/local/nvidia/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
  volumeMounts:
    - {name: library-dir-host, mountPath: /usr/local/nvidia}
    - {name: gib, mountPath: /usr/local/gib}
podSpec:
  volumes:
    - {name: library-dir-host, hostPath: {path: /home/kubernetes/bin/nvidia}}
    - {name: gib, hostPath: {path: /home/kubernetes/bin/gib}}
    - {name: sys, hostPath: {path: /sys}}
    - {name: proc-sys, hostPath: {path: /proc/sys}}
{{- end -}}

{{/* What an item of a list goes by: the path of a mount, or the name. */}}
{{- define "slurm.itemKey" -}}
{{- if .mountPath }}{{ trimSuffix "/" .mountPath }}{{ else }}{{ .name }}{{ end -}}
{{- end -}}

{{/* A list "has" with the items of "with" that it does not have yet, as YAML. */}}
{{- define "slurm.addItems" -}}
{{- $out := .has | default list -}}
{{- $keys := list -}}
{{- range $out }}{{ $keys = append $keys (include "slurm.itemKey" .) }}{{ end -}}
{{- range .with }}{{ if not (has (include "slurm.itemKey" .) $keys) }}{{ $out = append $out . }}{{ end }}{{ end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* A map with another one added, as YAML: what "values" set stays, also items of lists. */}}
{{- define "slurm.supplement" -}}
{{- $out := deepCopy .values -}}
{{- range $key, $value := .with -}}
{{- $has := get $out $key -}}
{{- if kindIs "map" $value -}}
{{- $_ := set $out $key (include "slurm.supplement" (dict "values" ($has | default dict) "with" $value) | fromYaml) -}}
{{- else if kindIs "slice" $value -}}
{{- $_ := set $out $key (include "slurm.addItems" (dict "has" $has "with" $value) | fromYamlArray) -}}
{{- else if not $has -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* NodeSets with what Google's machines need: "sets" are all of them by name. The result is YAML. */}}
{{- define "slurm.withGoogle" -}}
{{- $sets := .sets -}}
{{- range $machine, $entries := .root.Values.vendor.google -}}
{{- range $entries -}}
{{- $added := include "slurm.googleValues" (dict "root" $.root "machine" $machine "of" .) | fromYaml -}}
{{- if not (hasKey $.root.Values.nodesets .targetNodeSet) }}{{ fail (printf "vendor.google.%s: there is no nodesets.%s" $machine .targetNodeSet) }}{{ end -}}
{{- if hasKey $sets .targetNodeSet }}{{ $_ := set $sets .targetNodeSet (include "slurm.supplement" (dict "values" (get $sets .targetNodeSet) "with" $added) | fromYaml) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $sets -}}
{{- end -}}
