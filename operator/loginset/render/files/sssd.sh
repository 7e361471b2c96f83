#!/bin/sh
# Runs SSSD with the sssd.conf of the Secret. SSSD wants it to be a file of root that nobody else may read.
set -eu

# The number in it may be that of this process, since the container before had the same numbers.
rm -f /run/sssd.pid
cp /etc/sssd-secret/sssd.conf /etc/sssd/sssd.conf
chmod 0600 /etc/sssd/sssd.conf
exec /usr/sbin/sssd -i --logger=stderr
