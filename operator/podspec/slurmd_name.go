package podspec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// EnvSlurmName is the environment variable with the name of a worker's Slurm node.
const EnvSlurmName = "POD_HOSTNAME"

// slurmdValueOptions are the short options of slurmd that have a value.
const slurmdValueOptions = "BdfILnN"

// CheckSlurmdName returns an error if the arguments of a container start slurmd with another name than that of its worker: all workers
// of the NodeSet would have it. What a script does is not known.
func CheckSlurmdName(c corev1.Container) error {
	words := slices.Concat(c.Command, c.Args)
	start := slices.IndexFunc(words, func(word string) bool { return path.Base(word) == "slurmd" })
	for i := start + 1; start >= 0 && i < len(words); i++ {
		word, next := words[i], ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		conf, isConf := strings.CutPrefix(word, "--conf=")
		if word == "--conf" {
			conf, isConf = next, true
		}
		if conf = expandVariables(conf, literalVariables(c.Env)); isConf && slurmconf.ParseOptions(conf).HasAny("NodeName") {
			return fmt.Errorf("argument --conf %q names the Slurm node, and all workers would have that name", conf)
		}
		option, value, takesNext := cutSlurmdOption(word)
		if takesNext {
			value = next
			i++
		}
		if option == 'N' && value != "$("+EnvSlurmName+")" {
			return fmt.Errorf("argument -N %q names the Slurm node, and all workers would have that name", value)
		}
	}
	return nil
}

// variableReference matches what the kubelet replaces in an argument: $(NAME), and $$ for a dollar sign.
var variableReference = regexp.MustCompile(`\$\$|\$\([^()]+\)`)

// expandVariables replaces the references to known variables in a text, as the kubelet does
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
func expandVariables(text string, values map[string]string) string {
	return variableReference.ReplaceAllStringFunc(text, func(reference string) string {
		if reference == "$$" {
			return "$"
		}
		if value, known := values[reference[2:len(reference)-1]]; known {
			return value
		}
		return reference
	})
}

// literalVariables returns the variables whose values do not come from elsewhere. Each may refer to those before it.
func literalVariables(env []corev1.EnvVar) map[string]string {
	out := map[string]string{}
	for _, v := range env {
		if v.ValueFrom == nil {
			out[v.Name] = expandVariables(v.Value, out)
		}
	}
	return out
}

// cutSlurmdOption returns the last short option of an argument, such as L in -DL/var/log/slurmd.log, and its value. takesNext reports
// that the next argument is the value.
func cutSlurmdOption(word string) (option rune, value string, takesNext bool) {
	letters, isOption := strings.CutPrefix(word, "-")
	if !isOption || strings.HasPrefix(letters, "-") {
		return 0, "", false
	}
	for i, letter := range letters {
		if option = letter; strings.ContainsRune(slurmdValueOptions, letter) {
			return letter, letters[i+1:], i+1 == len(letters)
		}
	}
	return option, "", false
}
