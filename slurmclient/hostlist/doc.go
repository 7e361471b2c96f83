// Package hostlist reads and writes Slurm's hostlist expressions, in which "n[01-03,07],x5" means n01,
// n02, n03, n07 and x5.
//
//	expression = element { separator element }     separator: comma or white space
//	element    = { text | "[" range { "," range } "]" }
//	range      = number [ "-" number ]
//
// The first number of a range determines the width: "[08-11]" is 08, 09, 10, 11. If an element has
// several brackets, the last one counts fastest. Empty elements are skipped, as in Slurm. For invalid
// expressions in which Slurm guesses ("n[1-]", "n]", "n[[1]]"), this package returns an error.
//
// Expressions may be untrusted: the number of names (MaxNames) and their length (MaxNameLength) are
// limited, and both are checked before anything is expanded.
package hostlist
