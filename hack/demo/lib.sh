# shellcheck shell=bash
# Functions that the scripts of this folder share. Sourced, never run.

program=$PWD/.run/programs/slurmtide

# build builds the program, including the packages that images contain, and reports progress
# every ten seconds.
build() {
	command -v go >/dev/null || { echo "the demo needs Go, from https://go.dev/dl/" >&2 && exit 1; }
	mkdir -p "${program%/*}"
	local compiler log=$program.log
	CGO_ENABLED=0 go build -v -buildvcs=false -o "$program" ./cmd/slurmtide >"$log" 2>&1 &
	compiler=$!
	trap 'kill "$compiler" 2>/dev/null || true; exit 130' INT TERM
	until wait_a_little "$compiler"; do
		echo "building the demo: $(grep -vc '^go: ' "$log") packages compiled" >&2
	done
	trap - INT TERM
	wait "$compiler" || { cat "$log" >&2 && exit 1; }
}

# wait_a_little waits up to ten seconds for a process, and succeeds if it has exited.
wait_a_little() {
	local i
	for ((i = 0; i < 50; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.2
	done
	return 1
}
