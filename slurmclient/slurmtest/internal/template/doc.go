// Package template writes JSON as slurmrestd does. It compiles a recorded record once into literal text and places for
// values. Key names, order, indentation and the differences between API versions therefore match the recording. Writing
// a record costs little more than copying it.
package template
