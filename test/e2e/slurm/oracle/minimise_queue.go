package oracle

import "slices"

// minimiseQueue removes jobs from a failing queue as long as it still fails: first halves, then
// single jobs. The result fails, and does not fail without any one of its jobs.
func minimiseQueue(queue []Job, fails func([]Job) (bool, error)) ([]Job, error) {
	for size := max(1, len(queue)/2); ; size /= 2 {
		size = max(1, size)
		dropped := false
		for at := 0; at < len(queue); {
			fewer := slices.Concat(queue[:at], queue[min(at+size, len(queue)):])
			still, err := fails(fewer)
			if err != nil {
				return nil, err
			}
			if still {
				queue, dropped = fewer, true
			} else {
				at += size
			}
		}
		if size == 1 && !dropped {
			return queue, nil
		}
	}
}
