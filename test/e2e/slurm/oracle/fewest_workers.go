package oracle

import "slices"

// findFewestWorkers lowers the number of workers pool by pool as long as enough returns true, given that it
// does for from. It assumes that more than enough is enough, and tries one worker less first, since
// that usually fails. No pool of the result has more workers than from, and none can have fewer.
func findFewestWorkers(from []uint64, enough func([]uint64) (bool, error)) ([]uint64, error) {
	least := slices.Clone(from)
	for i := range least {
		low, high := uint64(0), least[i] // high workers are enough
		for first := true; low < high; first = false {
			try := low + (high-low)/2
			if first {
				try = high - 1
			}
			asked := slices.Clone(least)
			asked[i] = try
			ok, err := enough(asked)
			if err != nil {
				return nil, err
			}
			if ok {
				high = try
			} else {
				low = try + 1
			}
		}
		least[i] = high
	}
	return least, nil
}
