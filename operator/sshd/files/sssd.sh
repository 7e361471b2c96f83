#!/bin/sh
# Runs SSSD with the sssd.conf of the Secret, and starts it again when that changes. SSSD wants it to be a file of
# root that nobody else may read. If SSSD ends, this ends.
set -eu

umask 022
chmod 0755 /var/lib/sss
cd /var/lib/sss
mkdir -p db deskprofile gpo_cache mc pipes/private pubconf/krb5.include.d secrets
chmod 0700 db secrets pipes/private

start() {
	# The number in it may be that of a process here, since the container before had the same numbers.
	rm -f /run/sssd.pid
	cp /etc/sssd-secret/sssd.conf /etc/sssd/sssd.conf
	chmod 0600 /etc/sssd/sssd.conf
	/usr/sbin/sssd -i --logger=stderr &
	sssd=$!
}

stop() {
	kill "$sssd" 2>/dev/null || true
	wait "$sssd" || true
}

trap 'stop; exit 0' TERM
start
while kill -0 "$sssd" 2>/dev/null; do
	sleep 5 &
	wait "$!" # unlike sleep, it ends with a signal
	if ! cmp -s /etc/sssd-secret/sssd.conf /etc/sssd/sssd.conf; then
		stop
		start
	fi
done
wait "$sssd"
