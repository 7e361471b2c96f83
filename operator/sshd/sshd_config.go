package sshd

import (
	"fmt"
	"slices"
	"strings"
)

// Option is a line of sshd_config.
type Option struct{ Name, Value string }

// Config is an sshd_config (sshd_config(5)).
type Config struct {
	// AuthorizedKeys are files besides the users' own, with sshd's tokens.
	AuthorizedKeys string
	// More are further lines of ours.
	More []Option
	// Extra are the user's lines, and Field is the field with them, which errors name.
	Extra, Field string
	// Kept are the options, in lower case, that stay although the user sets them too: sshd takes all of their lines.
	Kept []string
}

// options returns our lines.
func (c Config) options() []Option {
	out := []Option{{"Port", "22"}}
	for _, key := range hostKeyFiles {
		out = append(out, Option{"HostKey", hostKeysDir + "/" + key})
	}
	out = append(out, []Option{
		{"UsePAM", "yes"},
		{"AuthorizedKeysFile", strings.TrimSpace(".ssh/authorized_keys " + c.AuthorizedKeys)},
		{"AuthorizedKeysCommand", "/usr/bin/sss_ssh_authorizedkeys"},
		{"AuthorizedKeysCommandUser", "nobody"},
		{"Subsystem", "sftp internal-sftp"},
		{"AcceptEnv", "LANG LC_*"},
		{"PrintMotd", "no"},
		{"PidFile", "none"},
		// A client that has vanished does not keep a leaving pod.
		{"ClientAliveInterval", "60"},
	}...)
	return append(out, c.More...)
}

// newOptions are our lines that older releases do not know, as comments that KnownOptions reads. All others are known
// since OpenSSH 6.2.
var newOptions = []Option{
	// Behind a Service many clients can have the address of one Kubernetes node: a penalty for one of them would shut out
	// all. Known since OpenSSH 9.8.
	{"PerSourcePenalties", "no"},
}

// Render returns the text: our lines, then the user's lines unchanged. sshd takes the first line of an option, so ours is
// left out where the user sets it for all connections.
func (c Config) Render() (string, error) {
	if strings.Contains(c.Extra, "\x00") {
		return "", fmt.Errorf("%s must not contain a NUL character", c.Field)
	}
	theirs := GlobalOptions(c.Extra)
	var out strings.Builder
	for _, o := range c.options() {
		name := strings.ToLower(o.Name)
		if _, has := theirs[name]; has && !slices.Contains(c.Kept, name) {
			continue
		}
		fmt.Fprintf(&out, "%s %s\n", o.Name, o.Value)
	}
	for _, o := range newOptions {
		if _, has := theirs[strings.ToLower(o.Name)]; !has {
			fmt.Fprintf(&out, "#if-known: %s %s\n", o.Name, o.Value)
		}
	}
	if extra := strings.TrimRight(c.Extra, "\n"); extra != "" {
		out.WriteString("\n# " + c.Field + "\n" + extra + "\n")
	}
	return out.String(), nil
}

// GlobalOptions returns the options that a text sets before its first Match: their names, in lower case, and their
// first values.
func GlobalOptions(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value := strings.TrimSpace(line), ""
		if i := strings.IndexAny(name, " \t="); i >= 0 {
			name, value = name[:i], strings.Trim(name[i:], " \t=\r\"")
		}
		name = strings.Trim(strings.ToLower(name), `"`)
		if name == "match" {
			break
		}
		if _, has := out[name]; !has {
			out[name] = value
		}
	}
	return out
}
