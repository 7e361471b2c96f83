package render

import (
	"fmt"
	"strings"
)

// sshdOption is a line of sshd_config.
type sshdOption struct{ name, value string }

// keptSSHDOptions are the options, in lower case, that stay although the user sets them too: sshd takes all
// of their lines.
var keptSSHDOptions = map[string]bool{"port": true, "hostkey": true}

// sshdOptions returns our lines of sshd_config.
func sshdOptions() []sshdOption {
	out := []sshdOption{{"Port", "22"}}
	for _, key := range hostKeyFiles {
		out = append(out, sshdOption{"HostKey", hostKeysDir + "/" + key})
	}
	return append(out, []sshdOption{
		{"UsePAM", "yes"},
		{"AuthorizedKeysFile", ".ssh/authorized_keys " + authorizedKeysDir + "/%u"},
		{"AuthorizedKeysCommand", "/usr/bin/sss_ssh_authorizedkeys"},
		{"AuthorizedKeysCommandUser", "nobody"},
		{"Subsystem", "sftp internal-sftp"},
		{"AcceptEnv", "LANG LC_*"},
		{"PrintMotd", "no"},
		{"PidFile", "none"},
		// A client that has vanished does not keep a leaving pod.
		{"ClientAliveInterval", "60"},
		// Behind a Service many clients can have the address of one Kubernetes node: a penalty for one of them
		// would shut out all.
		{"PerSourcePenalties", "no"},
	}...)
}

// renderSSHDConfig returns sshd_config (sshd_config(5)): our lines, then the user's as they are. sshd takes the
// first line of an option, so ours is left out where the user sets it for all connections.
func renderSSHDConfig(extra string) (string, error) {
	if strings.Contains(extra, "\x00") {
		return "", fmt.Errorf("spec.extraSshdConfig must not contain a NUL character")
	}
	theirs := globalSSHDOptions(extra)
	var out strings.Builder
	for _, o := range sshdOptions() {
		name := strings.ToLower(o.name)
		if theirs[name] && !keptSSHDOptions[name] {
			continue
		}
		fmt.Fprintf(&out, "%s %s\n", o.name, o.value)
	}
	if extra = strings.TrimRight(extra, "\n"); extra != "" {
		out.WriteString("\n# spec.extraSshdConfig\n" + extra + "\n")
	}
	return out.String(), nil
}

// globalSSHDOptions returns the names, in lower case, of the options that a text sets before its first Match.
func globalSSHDOptions(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		name := strings.ToLower(strings.TrimSpace(line))
		if i := strings.IndexAny(name, " \t="); i >= 0 {
			name = name[:i]
		}
		if name == "match" {
			break
		}
		out[strings.Trim(name, `"`)] = true
	}
	return out
}
