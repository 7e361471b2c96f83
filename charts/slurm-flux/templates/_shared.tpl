{{/* Written by hack/charts/generate from hack/charts: do not edit. */}}

{{/* An image, by digest or by tag, or as one text; empty without a repository. global.imageRegistry takes the place of the
     registry. A released chart knows the digests of the images that were released with it, which a tag gets too, but not in another
     registry: docker push of one platform makes another digest. */}}
{{- define "slurm-flux.image" -}}
{{- $image := .image | default dict -}}
{{- if kindIs "string" $image }}{{ $image = dict "repository" $image "isWhole" true }}{{ end -}}
{{- if $image.repository -}}
{{- $repository := $image.repository -}}
{{- $tag := toString ($image.tag | default .root.Chart.AppVersion) -}}
{{- $prefix := printf "image: %s:%s@" $repository $tag -}}
{{- $released := "" -}}
{{- range splitList "\n" (index .root.Chart.Annotations "artifacthub.io/images") -}}
{{- if hasPrefix $prefix (trim .) }}{{ $released = trimPrefix $prefix (trim .) }}{{ end -}}
{{- end -}}
{{- with dig "imageRegistry" "" (.root.Values.global | default dict) -}}
{{- $parts := splitList "/" $repository -}}
{{- if and (gt (len $parts) 1) (regexMatch "[.:]|^localhost$" (first $parts)) }}{{ $repository = join "/" (rest $parts) }}{{ end -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository -}}
{{- $released = "" -}}
{{- end -}}
{{- if $image.isWhole -}}
{{- $repository -}}
{{- else if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository $tag -}}
{{- with $released }}@{{ . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
