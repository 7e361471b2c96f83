#!/bin/sh
# Keeps sshd running, and becomes slurmd. Whatever fails before that does not keep slurmd from starting.
#
# usage: sh -c SCRIPT slurmd ARGUMENT...
#
# Functions of operator/sshd come before this.
umask 022
if mkdir -p /run/sshd && printf %s "$SSHD_CONFIG" >/etc/ssh/sshd_config && printf %s "$SSHD_PAM" >/etc/pam.d/sshd &&
	printf %s "$SSHD_NSSWITCH" >/etc/nsswitch.conf; then
	(while :; do
		# shellcheck disable=SC2046 # each word of it is an argument
		/usr/sbin/sshd -D -e $(known_options /etc/ssh/sshd_config)
		sleep 5
	done) &
else
	echo 'sshd does not run: its files cannot be written' >&2
fi
unset SSHD_CONFIG SSHD_PAM SSHD_NSSWITCH
exec "$0" "$@"
