// Package config tests on real slurmctlds and slurmdbds that they take the configuration that the
// operator renders as it is meant, and refuse what package slurmconf refuses.
package config
