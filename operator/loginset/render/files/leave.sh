#!/bin/sh
# Runs before a login pod ends. Tells logged-in users until when they can stay, and returns when nobody is
# logged in any more.
#
# usage: leave.sh SECONDS [PROC]
#
# SECONDS is the grace period of the pod, and POD_NAME its name. PROC is the folder of procfs.
proc=${2:-/proc}

# has_sessions reports whether somebody is logged in, or is logging in: whether port 22 has an open connection, or, at
# any port, a connection has logged in. Each of those has a process with the title "sshd-session: USER@TERMINALS",
# "sshd-session: USER@notty" for a command, scp or sftp, or "sshd-session: USER" where it only forwards ports. Before
# OpenSSH 9.8 it is "sshd: USER@TERMINALS" and so on. Titles that end with a bracket are of its helper ("USER [priv]",
# "USER [postauth]") and of connections that have not logged in ("[accepted]", "USER [net]"). The listener's title is
# "sshd: PROGRAM ARGUMENTS [listener] 0 of 10-100 startups".
has_sessions() {
	grep -Eqs '^ *[0-9]+: [0-9A-F]+:0016 [0-9A-F]+:[0-9A-F]+ 01 ' "$proc/net/tcp" "$proc/net/tcp6" && return
	cat "$proc"/[0-9]*/cmdline 2>/dev/null | grep -azE '^sshd(-session)?: .*[^]]$' | grep -azvq '\[listener\]'
}

# tell_new_terminals writes a line to each terminal that is not in $told. A terminal that takes no output
# does not stop the others.
tell_new_terminals() {
	terminals=
	for terminal in /dev/pts/[0-9]*; do
		[ -c "$terminal" ] || continue
		terminals="$terminals $terminal "
		case $told in *" $terminal "*) continue ;; esac
		(printf '\r\nThis login pod (%s) is leaving. You can stay until %s; log in again to reach another one.\r\n' \
			"$POD_NAME" "$until" >"$terminal") 2>/dev/null &
	done
	told=$terminals
}

end=$(($(date +%s) + $1))
until=$(date -u -d "@$end" '+%Y-%m-%d %H:%M UTC')
told=
reminded=
# Until the Service sends no connection here any more.
sleep 5
while has_sessions; do
	if [ -z "$reminded" ] && [ $((end - $(date +%s))) -lt 300 ]; then
		told=
		reminded=yes
	fi
	tell_new_terminals
	sleep 2
done
