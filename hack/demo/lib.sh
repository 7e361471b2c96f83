# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run.

program=$PWD/.run/demo/slurmtide

# build builds the program, with the packages that images are made of, and tells how far
# it is where that takes long.
build() {
	command -v go >/dev/null || { echo "the demo needs Go, from https://go.dev/dl/" >&2 && exit 1; }
	mkdir -p "${program%/*}"
	local compiler log=.run/demo/build.log
	CGO_ENABLED=0 go build -v -buildvcs=false -o "$program" ./cmd/slurmtide >"$log" 2>&1 &
	compiler=$!
	trap 'kill "$compiler" 2>/dev/null || true; exit 130' INT TERM
	until wait_a_little "$compiler"; do
		echo "building the demo: $(grep -vc '^go: ' "$log") packages compiled" >&2
	done
	trap - INT TERM
	wait "$compiler" || { cat "$log" >&2 && exit 1; }
}

# wait_a_little waits up to ten seconds for a process, and tells whether it is gone.
wait_a_little() {
	local i
	for ((i = 0; i < 50; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.2
	done
	return 1
}
