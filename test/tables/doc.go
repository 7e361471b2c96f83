// Package tables makes of what a program printed something that is the same in every run,
// and keeps its look: tables stay tables.
package tables
