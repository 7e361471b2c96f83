package exposition

// MergedFamilies contains each family of several exporters once. The zero value is empty.
type MergedFamilies struct {
	List        []RenderedFamily
	indexByName map[string]int // in list, by name
}

// Add appends samples to the families of the same name, and appends new families.
func (a *MergedFamilies) Add(shown []RenderedFamily) {
	if a.indexByName == nil {
		a.indexByName = map[string]int{}
	}
	for _, f := range shown {
		i, known := a.indexByName[f.name]
		if !known {
			a.indexByName[f.name] = len(a.List)
			f.samples = append([]fragment(nil), f.samples...) // the page is immutable
			a.List = append(a.List, f)
			continue
		}
		a.List[i].samples = append(a.List[i].samples, f.samples...)
	}
}
