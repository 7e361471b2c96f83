#!/bin/sh
# Runs before a login pod ends. Tells logged-in users until when they can stay, and returns when nobody is
# logged in any more.
#
# usage: leave.sh SECONDS
#
# SECONDS is the grace period of the pod, and POD_NAME its name.

# count_sessions prints how many connections have logged in. Each has a process with the title
# "sshd-session: USER@TERMINALS", "sshd-session: USER@notty" for a command, scp or sftp, or
# "sshd-session: USER" where it only forwards ports. Titles that end with a bracket are of its helper
# ("USER [priv]", "USER [postauth]") and of connections that have not logged in ("[accepted]", "USER [net]").
count_sessions() {
	cat /proc/[0-9]*/cmdline 2>/dev/null | grep -azc '^sshd-session: .*[^]]$'
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
while [ "$(count_sessions)" -gt 0 ]; do
	if [ -z "$reminded" ] && [ $((end - $(date +%s))) -lt 300 ]; then
		told=
		reminded=yes
	fi
	tell_new_terminals
	sleep 2
done
