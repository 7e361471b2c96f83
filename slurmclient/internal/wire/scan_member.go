package wire

// member is the byte ranges of one key and value of an object.
type member struct {
	key        []byte // without quotes, with escapes
	valueStart int
	valueEnd   int
	// next is the position after the comma or the closing brace; last is whether it was the brace.
	next int
	last bool
}

// readMember reads the member of an object that begins at or after b[i]. empty is true if there is "}"
// instead of a member.
func readMember(b []byte, i int) (m member, empty bool, err error) {
	i = skipSpace(b, i)
	if i >= len(b) {
		return m, false, errTruncated
	}
	if b[i] == '}' {
		m.next = i + 1
		return m, true, nil
	}
	if b[i] != '"' {
		return m, false, syntaxError("%q instead of a key", b[i])
	}
	end, err := skipString(b, i)
	if err != nil {
		return m, false, err
	}
	m.key = b[i+1 : end-1]
	i = skipSpace(b, end)
	if i >= len(b) {
		return m, false, errTruncated
	}
	if b[i] != ':' {
		return m, false, syntaxError("%q after the key %q", b[i], m.key)
	}
	m.valueStart = skipSpace(b, i+1)
	return m, false, m.readEnd(b)
}

// readEnd finds the end of the value that begins at m.valueStart.
func (m *member) readEnd(b []byte) error {
	end, err := skipValue(b, m.valueStart)
	if err != nil {
		return err
	}
	m.valueEnd = end
	i := skipSpace(b, end)
	if i >= len(b) {
		return errTruncated
	}
	if b[i] != ',' && b[i] != '}' {
		return syntaxError("%q after a value", b[i])
	}
	m.next, m.last = i+1, b[i] == '}'
	return nil
}

// eachMember calls f for every member of the object v, which must be complete.
func eachMember(v []byte, f func(key, value []byte)) {
	if len(v) < 2 || v[0] != '{' {
		return
	}
	for i, last := 1, false; !last; {
		m, empty, err := readMember(v, i)
		if err != nil || empty {
			return
		}
		f(m.key, v[m.valueStart:m.valueEnd])
		i, last = m.next, m.last
	}
}

// eachElement calls f for every element of the array v, which must be complete.
func eachElement(v []byte, f func(value []byte)) {
	if len(v) < 2 || v[0] != '[' {
		return
	}
	for i := skipSpace(v, 1); i < len(v) && v[i] != ']'; {
		end, err := skipValue(v, i)
		if err != nil {
			return
		}
		f(v[i:end])
		i = skipSpace(v, end)
		if i < len(v) && v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
}
