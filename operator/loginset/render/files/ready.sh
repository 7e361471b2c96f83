#!/bin/sh
# Succeeds if sshd listens at port 22. It does not connect: sshd writes a line for each connection that does
# not log in, and punishes the address from which many come.
exec grep -Eqs '^ *[0-9]+: [0-9A-F]+:0016 [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6
