// Package pacing decides when resources are polled and what a poll requests of the server: how long to
// pause, whether to send update_time, and whether new jobs are worth a poll outside the period. It
// does no I/O and has no clock; only AddJitter is random.
package pacing
