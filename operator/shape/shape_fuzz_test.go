package shape

import (
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// FuzzExtraConf applies any extraConf to a worker with 64 CPUs and checks that the CPUs and features
// agree with the options.
func FuzzExtraConf(f *testing.F) {
	for _, text := range []string{
		"CPUs=4 RealMemory=8192 Gres=gpu:1 Features=a,b Weight=3",
		"Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1",
		"Sockets=4294967296 CoresPerSocket=4294967296", "CoreSpecCount=9223372036854775808 ThreadsPerCore=2",
		"MemSpecLimit=18446744073709551615",
		"CPUs=0", "Weight=99999999999", "CPUs", "=4", `Gres="gpu:2"`, "CPUs=4 cpus=99999999999999999999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := slurmconf.ParseOptions(text)
		s := Shape{CPUs: 64, MemoryMiB: 1000}
		s.applyConf(text)
		limited := o.HasAny("CPUs", "CoreSpecCount") || hasZeroOption(o)
		for _, name := range []string{"CPUs", "Sockets", "CoresPerSocket", "ThreadsPerCore"} {
			if n, ok := o.Number(name); ok && n > 0 && !limited && s.CPUs < n {
				t.Errorf("%q: got %d CPUs, want at least %d", text, s.CPUs, n)
			}
		}
		if reserved, ok := o.Number("CoreSpecCount"); ok && reserved >= 64 && !hasCPUOption(o) && s.CPUs != 0 {
			t.Errorf("%q reserves all cores, but %d CPUs remain", text, s.CPUs)
		}
		if len(s.Features) > 2+strings.Count(text, ",") {
			t.Errorf("%q: too many features: %q", text, s.Features)
		}
	})
}

// cpuOptions are the options that state a number of CPUs.
var cpuOptions = []string{"CPUs", "Boards", "SocketsPerBoard", "Sockets", "CoresPerSocket", "ThreadsPerCore"}

// hasCPUOption reports whether an option states a number of CPUs.
func hasCPUOption(o slurmconf.Options) bool {
	return slices.ContainsFunc(cpuOptions, func(name string) bool {
		_, ok := o.Number(name)
		return ok
	})
}

// hasZeroOption reports whether one of the factors of the number of CPUs is 0.
func hasZeroOption(o slurmconf.Options) bool {
	return slices.ContainsFunc(cpuOptions, func(name string) bool {
		n, ok := o.Number(name)
		return ok && n == 0
	})
}
