package shape

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzExtraConf lays any extraConf over a worker with 64 CPUs. Options that only take
// something away add nothing, and what is written of the shape is read as the same.
func FuzzExtraConf(f *testing.F) {
	for _, text := range []string{
		"CPUs=4 RealMemory=8192 Gres=gpu:1 Features=a,b Weight=3", "Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1",
		"Sockets=4294967296 CoresPerSocket=4294967296", "CoreSpecCount=9223372036854775808 ThreadsPerCore=2", "MemSpecLimit=18446744073709551615",
		"CPUs=0", "Weight=99999999999", "CPUs", "=4", `Gres="gpu:2"`, "CPUs=4 cpus=99999999999999999999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := optionsOf(text)
		s := Shape{CPUs: 64, MemoryMiB: 1000}
		s.read(text)
		for _, name := range []string{"cpus", "sockets", "corespersocket", "threadspercore"} {
			if n := uint64(0); o.number(name, &n) && n > 0 && o["cpus"] == "" && !zeroIn(o) && o["corespeccount"] == "" && s.CPUs < n {
				t.Errorf("%q has %d CPUs", text, s.CPUs)
			}
		}
		if kept := uint64(0); o.number("corespeccount", &kept) && kept >= 64 && !told(o) && s.CPUs != 0 {
			t.Errorf("%q keeps all cores, and %d CPUs are left", text, s.CPUs)
		}
		if len(s.Features) > 2+strings.Count(text, ",") {
			t.Errorf("%q has the features %q", text, s.Features)
		}
		again := Shape{ThreadsPerCore: s.ThreadsPerCore}
		again.read(s.Options())
		if strings.ContainsAny(s.GRES+strings.Join(s.Features, ""), `"'`) {
			return // quotes within are read as if they were around
		}
		if !reflect.DeepEqual(s, again) && !slices.Contains(s.Features, "") {
			t.Errorf("%q is %+v, and %q is %+v", text, s, s.Options(), again)
		}
	})
}

// told reports whether the options say how many CPUs there are.
func told(o confOptions) bool {
	var n uint64
	return o.number("cpus", &n) || o.number("sockets", &n) || o.number("corespersocket", &n) || o.number("threadspercore", &n)
}

// zeroIn reports whether one of the numbers of CPUs is 0.
func zeroIn(o confOptions) bool {
	return slices.ContainsFunc([]string{"sockets", "corespersocket", "threadspercore"}, func(name string) bool {
		n := uint64(1)
		return o.number(name, &n) && n == 0
	})
}
