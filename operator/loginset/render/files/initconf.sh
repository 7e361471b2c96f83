#!/bin/sh
# Makes the folders that the containers of a login pod share, and installs the key of Slurm.
#
# usage: initconf.sh ID [HOME]
#
# ID is the number of the user and the group slurm. HOME is the folder of the homes if it is new.
# Kubernetes makes the folders of its volumes writable for everybody.
set -eu

umask 022
mkdir -p /run/sshd
chmod 0755 /run /run/sshd ${2:+"$2"}
chmod 1777 /tmp

# sackd listens at a socket in /run/slurm. It refuses a folder of anybody else, and a key that others may read.
chown "$1:$1" /run/slurm
chmod 0755 /run/slurm
# Once the key has been rotated there is a slurm.jwks, too. slurm-agent, which runs as SlurmUser, brings newer ones.
for file in slurm.key slurm.jwks slurmtide.keys; do
	[ -e "/etc/slurm-secret/$file" ] || continue
	cp "/etc/slurm-secret/$file" "/etc/slurm/.$file.new"
	chmod 0400 "/etc/slurm/.$file.new"
	chown "$1:$1" "/etc/slurm/.$file.new"
	mv "/etc/slurm/.$file.new" "/etc/slurm/$file"
done
chown "$1:$1" /etc/slurm
chmod 0755 /etc/slurm
