// Package tables replaces what differs from run to run in the output of a program, and keeps the
// columns of its tables aligned.
package tables
