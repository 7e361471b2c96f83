package oracle

import "slices"

// findLeast lowers the number of workers of each pool, one pool after the other, as far
// as enough holds, given that it holds for from. It takes a number that is enough to
// stay enough when it grows, and asks first for one worker less, since that is mostly
// too few. The result is never more than from, and no pool of it can have less.
func findLeast(from []uint64, enough func([]uint64) (bool, error)) ([]uint64, error) {
	least := slices.Clone(from)
	for i := range least {
		low, high := uint64(0), least[i] // high is enough
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
