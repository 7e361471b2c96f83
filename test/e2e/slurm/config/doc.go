// Package config tests the operator's configuration on real slurmctlds and slurmdbds. They must use the rendered
// configuration as intended, and refuse what package slurmconf refuses.
package config
