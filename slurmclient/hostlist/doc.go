// Package hostlist reads and writes Slurm's hostlist expressions, in which
// "n[01-03,07],x5" stands for n01, n02, n03, n07 and x5.
//
//	expression = element { separator element }     separator: comma or white space
//	element    = { text | "[" range { "," range } "]" }
//	range      = number [ "-" number ]
//
// A range counts with the width of its first number: "[08-11]" is 08, 09, 10, 11.
// Of several brackets in one element the last counts fastest. Empty elements are
// skipped, as Slurm does. Where Slurm guesses ("n[1-]", "n]", "n[[1]]"), this
// package returns an error.
//
// Expressions may come from anywhere: the number of names (MaxNames) and their
// length (MaxNameLength) are limited, and nothing is expanded before both are known.
package hostlist
