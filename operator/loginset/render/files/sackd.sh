#!/bin/sh
# Runs sackd as a child. As the first process of its container sackd of Slurm 24.11 would ignore SIGTERM, and
# the pod would stay until the end of its grace period.
# It executes itself again for a new configuration, for which it needs its full path.
if [ -n "${SLURM_AGENT:-}" ]; then
	# It gives sackd changed keys, and says which ones sackd has and how many users are logged in.
	(while :; do
		"$SLURM_AGENT" --daemon=sackd --wanted=/etc/slurm-secret --live=/etc/slurm --session-port=22
		sleep 1
	done) &
fi
/usr/sbin/sackd "$@" &
sackd=$!
trap 'kill "$sackd" 2>/dev/null' TERM INT
# wait returns early when a signal has come.
while kill -0 "$sackd" 2>/dev/null; do
	wait "$sackd"
done
