# shellcheck shell=bash
# Functions that the scripts of this folder share. Sourced, never run.

images_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=hack/kube/lib.sh
source "$images_dir/../kube/lib.sh"

# suite_of names the Debian suite that carries a Slurm version, or that of the tests' own images.
suite_of() {
	case $1 in
	24.11 | dev) echo trixie ;;
	26.05) echo forky ;;
	*) return 1 ;;
	esac
}

# debian_images prints the images of Debian's packages, as NAME:VERSION.
debian_images() {
	local file
	for file in "$repo_dir"/images/*/packages; do
		file=${file%/packages}
		echo "${file##*/}:24.11 ${file##*/}:26.05"
	done
	for file in "$repo_dir"/test/images/*/packages; do
		file=${file%/packages}
		echo "${file##*/}:dev"
	done
}

# packages_of prints the packages of image $1.
packages_of() {
	local file
	for file in "$repo_dir/images/$1/packages" "$repo_dir/test/images/$1/packages"; do
		[[ ! -f $file ]] || { cat "$file" && return; }
	done
	return 1
}

# entry_point_of prints the command of image $1, one word a line: that of its Dockerfile, or of the files of an image of the
# tests.
entry_point_of() {
	if [[ -f $repo_dir/test/images/$1/files/usr/local/bin/docker-entrypoint.sh ]]; then
		echo docker-entrypoint.sh
	else
		dockerfile_values "$1" ENTRYPOINT
	fi
}

# dockerfile_values prints the values that instruction $2 gives to image $1 in its Dockerfile, one a line.
dockerfile_values() {
	awk -v image="$1" -v instruction="$2" '
		$1 == "FROM" {found = $4 == image}
		found && $1 == instruction {gsub(/[][",]/, " "); for (i = 2; i <= NF; i++) print $i}' "$repo_dir/images/Dockerfile"
}
