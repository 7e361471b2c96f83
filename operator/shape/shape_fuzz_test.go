package shape

import (
	"slices"
	"strings"
	"testing"
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
		o := parseConfOptions(text)
		s := Shape{CPUs: 64, MemoryMiB: 1000}
		s.applyConf(text)
		for _, name := range []string{"cpus", "sockets", "corespersocket", "threadspercore"} {
			n := uint64(0)
			limited := o["cpus"] != "" || hasZeroOption(o) || o["corespeccount"] != ""
			if o.readNumber(name, &n) && n > 0 && !limited && s.CPUs < n {
				t.Errorf("%q: got %d CPUs, want at least %d", text, s.CPUs, n)
			}
		}
		reserved := uint64(0)
		if o.readNumber("corespeccount", &reserved) && reserved >= 64 && !hasCPUOption(o) && s.CPUs != 0 {
			t.Errorf("%q reserves all cores, but %d CPUs remain", text, s.CPUs)
		}
		if len(s.Features) > 2+strings.Count(text, ",") {
			t.Errorf("%q: too many features: %q", text, s.Features)
		}
	})
}

// hasCPUOption reports whether an option states a number of CPUs.
func hasCPUOption(o confOptions) bool {
	var n uint64
	return o.readNumber("cpus", &n) || o.readNumber("sockets", &n) || o.readNumber("corespersocket", &n) ||
		o.readNumber("threadspercore", &n)
}

// hasZeroOption reports whether one of the factors of the number of CPUs is 0.
func hasZeroOption(o confOptions) bool {
	return slices.ContainsFunc([]string{"sockets", "corespersocket", "threadspercore"}, func(name string) bool {
		n := uint64(1)
		return o.readNumber(name, &n) && n == 0
	})
}
