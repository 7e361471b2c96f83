package trial

import (
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// quotedLength is the number of consecutive bytes of a secret that a message may contain by chance.
const quotedLength = 6

// hiddenReason replaces a message that quotes a secret.
const hiddenReason = "the message of Slurm is not shown, because it quotes a key or a password"

// HideSecrets returns the reason, or hiddenReason if the reason quotes the content of a key or the value of a password.
// keys are the contents of the key files, files the other files.
func HideSecrets(reason string, keys, files map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if isQuoted(reason, name, keys[name]) {
			return hiddenReason
		}
	}
	for _, text := range files {
		if quotesPassword(reason, text) {
			return hiddenReason
		}
	}
	return reason
}

// isQuoted reports whether a reason quotes the key in a file.
func isQuoted(reason, name, text string) bool {
	switch {
	case name == "slurmdbd.conf":
		return quotesPassword(reason, text)
	case strings.Contains(reason, name+" line "): // the following text may be too short for quotes
		return true
	case name == "slurm.jwks": // its ids and algorithms are no secrets
		return slices.ContainsFunc(strings.Split(text, `"`), func(word string) bool {
			return len(word) >= 3*quotedLength && quotes(reason, word)
		})
	}
	return quotes(reason, text)
}

// quotes reports whether a reason contains a part of a secret, or all of a short one.
func quotes(reason, secret string) bool {
	secret = strings.TrimSpace(secret)
	if len(secret) <= quotedLength {
		return secret != "" && strings.Contains(reason, secret)
	}
	for i := range len(secret) - quotedLength + 1 {
		if part := secret[i : i+quotedLength]; strings.TrimSpace(part) != "" && strings.Contains(reason, part) {
			return true
		}
	}
	return false
}

// quotesPassword reports whether a reason contains a word of a password of a configuration file. Slurm quotes the text
// after the first word of a value. A word of one or two letters may appear by chance.
func quotesPassword(reason, conf string) bool {
	for _, s := range slurmconf.ParseSettings(conf) {
		if !isPassword(s) {
			continue
		}
		_, value, _ := strings.Cut(s.Text, "=")
		for _, word := range strings.Fields(value) {
			if word = strings.Trim(word, `"`); len(word) > 2 && strings.Contains(reason, word) {
				return true
			}
		}
	}
	return false
}

// isPassword reports whether a setting has a password, as StoragePass and JobCompPass have.
func isPassword(s slurmconf.Setting) bool { return strings.HasSuffix(strings.ToLower(s.Name), "pass") }
