# known_options prints, as arguments of sshd, the options in lines "#if-known: NAME VALUE" of an sshd_config that this
# sshd knows. An sshd does not start with an option that it does not know.
known_options() {
	for option in $(sed -n 's/^#if-known: \([A-Za-z]*\) \([^ ]*\)$/\1=\2/p' "$1"); do
		! /usr/sbin/sshd -t -f "$1" -o "$option" 2>/dev/null || printf ' -o %s' "$option"
	done
}
