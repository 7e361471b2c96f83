# shellcheck shell=bash
# Builds folders with a Debian system, to chroot into. Sourced after process.sh,
# never run. Installs the builder if it is missing.

# debian_mirror prints $SLURMTIDE_MIRROR, or the first Debian mirror in the apt
# sources of either format.
debian_mirror() {
	local found
	[[ -z ${SLURMTIDE_MIRROR:-} ]] || { echo "$SLURMTIDE_MIRROR" && return; }
	found=$(
		cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
			sed -n 's/^URIs:[[:space:]]*//p' | tr -s ' ' '\n'
		cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
			sed -nE 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]*)?([^[:space:]]+).*/\2/p'
	) || true
	found=$(grep -E '^https?://.*/debian/?$' <<<"$found" | head -n1) || true
	echo "${found:-http://deb.debian.org/debian}"
}

debian_builder_installed() {
	command -v mmdebstrap >/dev/null && [[ -f /usr/share/keyrings/debian-archive-keyring.gpg ]]
}

debian_apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "$@" >/dev/null
}

# debian_install_builder installs mmdebstrap, one caller at a time.
debian_install_builder() {
	local wanted=(mmdebstrap debian-archive-keyring)
	exec 6>"$cache_dir/install.lock"
	flock 6
	if ! debian_builder_installed; then
		command -v apt-get >/dev/null || die "needs mmdebstrap, and apt-get is not available to install it"
		say "installing ${wanted[*]}"
		if ! debian_apt_install "${wanted[@]}" 2>/dev/null; then
			apt-get update -qq >/dev/null || true
			debian_apt_install "${wanted[@]}" || die "cannot install mmdebstrap, see the output of apt-get above"
		fi
	fi
	exec 6>&-
}

# debian_root installs suite $1 and the packages $3... into folder $2. A package such as
# python3/trixie is that of another suite, from which what $1 lacks is installed as well. It
# does not check Valid-Until, since the InRelease file of a testing suite may have expired.
# Options of mmdebstrap may precede the suite.
debian_root() {
	local options=() suite folder from sources=()
	while [[ $1 == --* ]]; do options+=("$1") && shift; done
	suite=$1 folder=$2
	shift 2
	for from in "$suite" $(printf '%s\n' "$@" | sed -n 's|.*/||p' | grep -vx "$suite" | sort -u); do
		sources+=("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) $from main")
	done
	mmdebstrap --variant=minbase --mode=root --components=main \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Languages "none"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='force-unsafe-io' \
		"${options[@]}" --include="$(IFS=, && echo "$*")" \
		"$suite" "$folder" "${sources[@]}"
}
