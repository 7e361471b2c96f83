#!/bin/sh
# Runs the script of SSSD ($0) in the pod of slurmctld or slurmrestd, and again ten seconds after it has ended. It never
# ends by itself: a pod whose sidecar has ended is not ready, and nobody would reach its daemon.
set -u

# An fsGroup gives the volumes a group. SSSD wants its files to be root's.
chown 0:0 /etc/sssd /run /tmp /var/lib/sss
chmod g-s /etc/sssd /run /tmp /var/lib/sss

# The daemon starts when SSSD answers, but does not wait any longer than this for it.
(sleep 10 && : >/run/sssd-waited) &

child=
trap 'kill "$child" 2>/dev/null; wait "$child"; exit 0' TERM
while :; do
	sh -c "$0" &
	child=$!
	wait "$child"
	echo "SSSD has ended with status $?, and starts again in ten seconds" >&2
	sleep 10 &
	child=$!
	wait "$child"
done
