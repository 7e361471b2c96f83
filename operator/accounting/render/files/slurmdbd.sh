#!/bin/sh
# Runs slurmdbd, and again after slurm-agent has ended it for a changed configuration or key. The kubelet would wait longer
# each time before it starts the container again.
#
# usage: sh -c SCRIPT slurmdbd ARGUMENT...
ended=
trap 'ended=1; kill "$slurmdbd" 2>/dev/null' TERM INT
while [ -z "$ended" ]; do
	"$0" "$@" &
	slurmdbd=$!
	# A signal may have come before its id was known.
	[ -z "$ended" ] || kill "$slurmdbd" 2>/dev/null
	wait "$slurmdbd"
	status=$?
	# wait returns early when a signal has come.
	while kill -0 "$slurmdbd" 2>/dev/null; do
		wait "$slurmdbd"
		status=$?
	done
	# 143 is SIGTERM before slurmdbd handles it.
	case $status in
	0 | 143) sleep 1 ;;
	*) exit "$status" ;;
	esac
done
