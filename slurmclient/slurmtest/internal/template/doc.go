// Package template writes JSON as slurmrestd does. A recorded record is compiled once into literal
// text and places for values. Key names, order, indentation and the differences between API
// versions are therefore those of the recording, and writing a record costs little more than
// copying it.
package template
