package slurmclients

import (
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// checkWords checks that each word of a line is one option, so that no other option or command can be added.
func checkWords(t *testing.T, words []string) {
	for i, word := range words {
		if strings.ContainsAny(word, " \t\r\n\"'`$;&|<>#\\") ||
			strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q is no single option", word)
		}
		if i > 0 && strings.HasPrefix(strings.ToLower(word), strings.ToLower(strings.SplitAfter(words[0], "=")[0])) {
			t.Errorf("%q names other ones than %q", word, words[0])
		}
	}
}

// FuzzNodeLines gives any names and options to the writer of lines for scontrol. What it
// lets through are the names and one word for each option.
func FuzzNodeLines(f *testing.F) {
	f.Add("gpu-[0-9]", "CPUs=4 Gres=gpu:h100:4 Features=a,b")
	f.Add("n1\nNodeName=n2", "CPUs=4")
	f.Add("n1", "CPUs=4\nNodeName=n2")
	f.Add("n[1-99999999]", "nodename=x")
	f.Add("n1,n1", "Comment=`x`")
	f.Add("n[1-9999]9", "nodename=x")
	f.Fuzz(func(t *testing.T, names, options string) {
		if n, _ := hostlist.Count(names); n > 10_000 {
			return // a NodeSet has no more records
		}
		all, words, err := scontrolNodeArgs(names, options)
		if err != nil {
			if slurmclient.CodeOf(err) != slurmclient.CodeInvalid || all != nil || words != nil {
				t.Errorf("%q and %q are %q and %v", names, options, words, err)
			}
			return
		}
		checkWords(t, words)
		if !slices.Equal(words[1:], strings.Fields(options)) {
			t.Errorf("%q is written as %q", options, words[1:])
		}
		written, err := hostlist.Expand(strings.TrimPrefix(words[0], "NodeName="))
		want := slices.Compact(slices.SortedFunc(slices.Values(all), hostlist.Compare))
		if err != nil || len(all) == 0 || !slices.Equal(written, want) {
			t.Errorf("%q is written as %q, %v", names, words[0], err)
		}
	})
}

// FuzzReservationLines gives any texts to the writer of reservations for scontrol.
func FuzzReservationLines(f *testing.F) {
	f.Add("maint", "n1", "alice", "gpu", "matlab:2", "MAINT,IGNORE_JOBS", int64(1_700_000_000), uint64(10))
	f.Add("a b", "n1 Users=root", "alice\n", "$(x)", "a'", "-MAINT", int64(-1), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, name, node, user, partition, licenses, flag string, start int64, minutes uint64) {
		words, err := scontrolReservationArgs(slurm.ReservationRequest{
			Name: name, Nodes: []string{node}, Users: []string{user}, Partition: partition, Licenses: licenses,
			Flags: []string{flag}, StartTime: slurm.Time(start), Duration: slurm.Num(minutes),
		})
		if err != nil {
			if slurmclient.CodeOf(err) != slurmclient.CodeInvalid || words != nil {
				t.Errorf("%q and %v", words, err)
			}
			return
		}
		checkWords(t, words)
		if words[0] != "ReservationName="+name || name == "" || user != "" && !slices.Contains(words, "Users="+user) {
			t.Errorf("the reservation %q of %q is %q", name, user, words)
		}
	})
}
