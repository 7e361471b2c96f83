package podspec

import (
	"errors"
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

// slurmdPrograms are the names of slurmd. Debian has the second one.
var slurmdPrograms = []string{"slurmd", "slurmd-wlm"}

// slurmdValueOptions are the short options of slurmd that have a value.
const slurmdValueOptions = "BdfILnN"

// longValueOptions are the long options of slurmd that have a value, besides --conf. getopt_long accepts the beginning of a name.
var longValueOptions = []string{"authinfo", "ca-cert-file", "conf-server", "extra", "instance-id", "instance-type"}

// errFutureNode refuses the option that lets slurmctld choose the Slurm node by the shape of the worker.
var errFutureNode = errors.New("argument -F lets slurmctld choose the Slurm node, whose name would not be that of the worker")

// CheckSlurmdName returns an error if the arguments of a container start slurmd, or may start it, with another name than its worker's:
// all workers of the NodeSet would have it. Commands in a script are not checked.
func CheckSlurmdName(c corev1.Container) error {
	words := expandWords(c)
	start := slices.IndexFunc(words, func(word string) bool { return slices.Contains(slurmdPrograms, path.Base(word)) })
	if start < 0 {
		return nil
	}
	for words = words[start+1:]; len(words) > 0 && words[0] != "--"; {
		word := words[0]
		words = words[1:]
		if mayBeOption(word) {
			return fmt.Errorf("argument %q has a variable whose value comes from elsewhere, and may be an option that names the Slurm node",
				formatWord(word))
		}
		option, value, takesNext := cutSlurmdOption(word)
		if takesNext && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		if err := checkSlurmdOption(option, value); err != nil {
			return err
		}
	}
	return nil
}

// mayBeOption reports whether the value of an unknown variable in an argument may make it an option, or add one to it.
func mayBeOption(word string) bool {
	begin := strings.TrimLeft(word, string(plainValue)) // which may be empty
	if begin == "" || !strings.ContainsRune("-"+string(anyValue), rune(begin[0])) {
		return false
	}
	name := strings.TrimPrefix(begin, "-")
	if end := strings.IndexAny(name, slurmdValueOptions); !strings.HasPrefix(name, "-") && end >= 0 {
		name = name[:end]
	}
	name, _, _ = strings.Cut(name, "=")
	return strings.ContainsAny(name, string(unknownValues))
}

// cutSlurmdOption returns the option of an argument and its value. Of joined short options, such as DL in -DL/var/log/slurmd.log, it
// returns the one that has a value or names the node. takesNext reports that the next argument is the value.
func cutSlurmdOption(word string) (option, value string, takesNext bool) {
	letters, isOption := strings.CutPrefix(strings.TrimLeft(word, string(plainValue)), "-")
	if !isOption {
		return "", "", false
	}
	if long, isLong := strings.CutPrefix(letters, "-"); isLong {
		name, value, hasValue := strings.Cut(long, "=")
		takes := name == "conf" || slices.ContainsFunc(longValueOptions, func(o string) bool { return strings.HasPrefix(o, name) })
		return name, value, takes && !hasValue
	}
	if i := strings.IndexAny(letters, slurmdValueOptions+"F"); i >= 0 {
		return letters[i : i+1], letters[i+1:], letters[i] != 'F' && i+1 == len(letters)
	}
	return "", "", false
}

// checkSlurmdOption returns an error if an option of slurmd names the Slurm node, or may do so.
func checkSlurmdOption(option, value string) error {
	switch {
	case option == "F":
		return errFutureNode
	case option == "N" && value != string(workerName):
		return fmt.Errorf("argument -N %q names the Slurm node, and all workers would have that name", formatWord(value))
	case option != "conf":
		return nil
	case strings.ContainsRune(value, anyValue):
		return fmt.Errorf("argument --conf %q has a variable whose value comes from elsewhere, and may name the Slurm node", formatWord(value))
	case mayNameNode(value):
		return fmt.Errorf("argument --conf %q names the Slurm node, and all workers would have that name", formatWord(value))
	}
	return nil
}

// plainName matches an option whose name has a plain value in it.
var plainName = regexp.MustCompile(`(^|[\s\v])[^\s\v=]*` + string(plainValue) + `[^\s\v=]*[\s\v]*=`)

// mayNameNode reports whether options name the Slurm node, or may do so: a plain value may be empty or a part of an option's name.
func mayNameNode(conf string) bool {
	conf = strings.ReplaceAll(conf, string(workerName), string(plainValue))
	return slurmconf.NamesNode(conf) || plainName.MatchString(conf)
}
