package collector

import "time"

// Units of Slurm in base units.
const (
	mebibyte = 1 << 20
	minute   = float64(time.Minute / time.Second)
	micro    = 1e-6
)

func secondsOfMicros(n uint64) float64 { return float64(n) / 1e6 }
