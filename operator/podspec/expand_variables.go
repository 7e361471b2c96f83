package podspec

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// These characters stand for values of variables that are not known before the container starts.
const (
	// anyValue stands for a value that may be any text.
	anyValue = '\x01'
	// plainValue stands for a value without white space and signs before its first letter or digit. It may be empty.
	plainValue = '\x02'
	// workerName stands for the name of the worker's Slurm node.
	workerName = '\x03'
)

// unknownValues are the characters that stand for values.
const unknownValues = string(anyValue) + string(plainValue) + string(workerName)

// markers replaces characters of the user's text that would look like a known value.
var markers = strings.NewReplacer(string(plainValue), string(anyValue), string(workerName), string(anyValue))

// formatWord returns a word for a message.
func formatWord(word string) string {
	return strings.NewReplacer(string(anyValue), "$(...)", string(plainValue), "$(...)",
		string(workerName), "$("+EnvSlurmName+")").Replace(word)
}

// variableReference matches the text that the kubelet replaces in an argument: $(NAME), and $$ for a dollar sign.
var variableReference = regexp.MustCompile(`\$\$|\$\([^()]+\)`)

// expandWords returns the command and the arguments of a container with the values of its variables, as the kubelet does
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
func expandWords(c corev1.Container) []string {
	words := slices.Concat(c.Command, c.Args)
	values := variablesOf(c)
	values[EnvSlurmName] = string(workerName)
	for i := range words {
		words[i] = expandVariables(words[i], values, len(c.EnvFrom) > 0)
	}
	return words
}

// variablesOf returns the values of a container's variables. Each may refer to those before it.
func variablesOf(c corev1.Container) map[string]string {
	out := map[string]string{EnvSlurmName: string(plainValue)}
	for _, v := range c.Env {
		switch {
		case v.Name == EnvSlurmName: // the operator sets it
		case v.ValueFrom == nil:
			out[v.Name] = expandVariables(v.Value, out, len(c.EnvFrom) > 0)
		case isPlain(v.ValueFrom):
			out[v.Name] = string(plainValue)
		default:
			out[v.Name] = string(anyValue)
		}
	}
	return out
}

// isPlain reports whether a source has plain values only: numbers, and fields of the pod other than its annotations.
func isPlain(from *corev1.EnvVarSource) bool {
	return from.ResourceFieldRef != nil ||
		from.FieldRef != nil && !strings.HasPrefix(from.FieldRef.FieldPath, "metadata.annotations")
}

// expandVariables replaces the references to variables in a text. hasOthers means that more variables exist than the ones with known
// values.
func expandVariables(text string, values map[string]string, hasOthers bool) string {
	text = markers.Replace(text)
	return variableReference.ReplaceAllStringFunc(text, func(reference string) string {
		if reference == "$$" {
			return "$"
		}
		value, known := values[reference[2:len(reference)-1]]
		switch {
		case known:
			return value
		case hasOthers:
			return string(anyValue)
		}
		return reference
	})
}
