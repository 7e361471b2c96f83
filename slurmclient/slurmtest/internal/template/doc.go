// Package template writes JSON the way slurmrestd does. A recorded record is
// compiled once into literal text and places for values, so that key names,
// order, indentation and the differences between API versions are those of the
// recording, and a record costs little more to write than to copy.
package template
