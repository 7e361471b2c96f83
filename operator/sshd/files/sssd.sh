#!/bin/sh
# Runs SSSD with the sssd.conf of the Secret. SSSD wants it to be a file of root that nobody else may read.
set -eu

umask 022
chmod 0755 /var/lib/sss
cd /var/lib/sss
mkdir -p db deskprofile gpo_cache mc pipes/private pubconf/krb5.include.d secrets
chmod 0700 db secrets pipes/private
# The number in it may be that of this process, since the container before had the same numbers.
rm -f /run/sssd.pid
cp /etc/sssd-secret/sssd.conf /etc/sssd/sssd.conf
chmod 0600 /etc/sssd/sssd.conf
exec /usr/sbin/sssd -i --logger=stderr
