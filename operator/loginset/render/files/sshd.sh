#!/bin/sh
# Becomes sshd. Functions of operator/sshd come before this.
#
# usage: sshd.sh ARGUMENT...
# shellcheck disable=SC2046 # each word of it is an argument
exec /usr/sbin/sshd "$@" $(known_options "${0%/*}/sshd_config")
