package view

// changesOf returns the changes between two lists of clusters, in the order of clusters and
// records.
func changesOf[T any](n *resource[T], old, now []*clusterRecords[T]) []change[T] {
	var out []change[T]
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case j == len(now) || i < len(old) && old[i].ref.Compare(now[j].ref) < 0:
			out = appendChanges(n, out, old[i], old[i].records, nil)
			i++
		case i == len(old) || old[i].ref.Compare(now[j].ref) > 0:
			out = appendChanges(n, out, now[j], nil, now[j].records)
			j++
		default:
			if old[i] != now[j] {
				out = appendChanges(n, out, now[j], old[i].records, now[j].records)
			}
			i++
			j++
		}
	}
	return out
}

// appendChanges appends the differences between two sorted lists. Equal pointers are unchanged
// records; records behind different pointers may still be equal.
func appendChanges[T any](n *resource[T], out []change[T], in *clusterRecords[T], old, now []*T) []change[T] {
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		order := 0
		switch {
		case i == len(old):
			order = 1
		case j == len(now):
			order = -1
		default:
			order = n.compare(old[i], now[j])
		}
		switch {
		case order < 0:
			out = append(out, change[T]{cluster: in, old: old[i]})
			i++
		case order > 0:
			out = append(out, change[T]{cluster: in, now: now[j]})
			j++
		default:
			if old[i] != now[j] && !n.same(old[i], now[j]) {
				out = append(out, change[T]{cluster: in, old: old[i], now: now[j]})
			}
			i++
			j++
		}
	}
	return out
}
