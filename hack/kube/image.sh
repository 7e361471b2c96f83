# shellcheck shell=bash
# Packs folders into container images. Sourced, never run.

# blob prints the descriptor of the blob in file $2, of media type $1, and puts
# it at its place in the OCI layout $layout.
blob() {
	local digest
	digest=$(sha256sum "$2" | cut -d' ' -f1)
	mv "$2" "$layout/blobs/sha256/$digest"
	printf '"mediaType": "application/vnd.oci.image.%s", "digest": "sha256:%s", "size": %d' \
		"$1" "$digest" "$(stat -c %s "$layout/blobs/sha256/$digest")"
}

# words prints its arguments as a list in JSON; they have no quotes.
words() {
	local word list=()
	for word; do list+=("\"$word\""); done
	(IFS=, && echo "[${list[*]}]")
}

# pack_image prints an image archive of one layer: $1 is its name and tag, $2 the
# folder, and the rest its command. --user UID before them sets its user, which is
# root by default.
pack_image() (
	set -euo pipefail
	user=0
	[[ $1 != --user ]] || { user=$2 && shift 2; }
	name=$1 folder=$2
	shift 2
	layout=$(mktemp -d)
	trap 'rm -rf "$layout"' EXIT
	mkdir -p "$layout/blobs/sha256"
	file=$layout/next
	arch=$(dpkg --print-architecture)
	tar --sort=name --mtime=@0 --numeric-owner --one-file-system -C "$folder" -cf "$file" .
	layer=$(blob layer.v1.tar "$file")
	digest=${layer#*digest\": } digest=${digest%%,*}
	path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	cat >"$file" <<-JSON
		{"architecture": "$arch", "os": "linux",
		 "config": {"User": "$user", "Entrypoint": $(words "$@"), "Env": ["PATH=$path"]},
		 "rootfs": {"type": "layers", "diff_ids": [$digest]}}
	JSON
	config=$(blob config.v1+json "$file")
	cat >"$file" <<-JSON
		{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		 "config": {$config}, "layers": [{$layer}]}
	JSON
	cat >"$layout/index.json" <<-JSON
		{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		 "manifests": [{$(blob manifest.v1+json "$file"),
		  "platform": {"architecture": "$arch", "os": "linux"},
		  "annotations": {"io.containerd.image.name": "$name", "org.opencontainers.image.ref.name": "${name##*:}"}}]}
	JSON
	echo '{"imageLayoutVersion": "1.0.0"}' >"$layout/oci-layout"
	tar -C "$layout" -cf - oci-layout index.json blobs
)
