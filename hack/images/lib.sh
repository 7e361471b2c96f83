# shellcheck shell=bash
# Functions that the scripts of this folder share. Sourced, never run.

images_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=hack/kube/lib.sh
source "$images_dir/../kube/lib.sh"

# suite_of names the Debian suite that carries a Slurm version.
suite_of() {
	case $1 in
	24.11) echo trixie ;;
	26.05) echo forky ;;
	*) die "no image for Slurm '$1', known are 24.11 and 26.05" ;;
	esac
}
