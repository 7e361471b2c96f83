package oracle

import "slices"

// minimise drops jobs from a queue that fails, as long as it still does: first halves,
// then single ones. What is left fails, and without any one of its jobs it does not.
func minimise(queue []Job, fails func([]Job) (bool, error)) ([]Job, error) {
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
