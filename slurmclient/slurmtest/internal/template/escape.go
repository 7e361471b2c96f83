package template

const hex = "0123456789abcdef"

// isPlain reports whether the byte needs no escape. json-c escapes the slash and does not escape UTF-8.
func isPlain(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' && c != '/' }

// String writes a string with json-c's escapes.
func (w *Writer) String(s string) {
	w.buf = append(w.buf, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		if isPlain(s[i]) {
			continue
		}
		w.buf = append(w.buf, s[from:i]...)
		w.escape(s[i])
		from = i + 1
	}
	w.buf = append(w.buf, s[from:]...)
	w.buf = append(w.buf, '"')
}

func (w *Writer) escape(c byte) {
	switch c {
	case '"', '\\', '/':
		w.buf = append(w.buf, '\\', c)
	case '\n':
		w.buf = append(w.buf, '\\', 'n')
	case '\r':
		w.buf = append(w.buf, '\\', 'r')
	case '\t':
		w.buf = append(w.buf, '\\', 't')
	case '\b':
		w.buf = append(w.buf, '\\', 'b')
	case '\f':
		w.buf = append(w.buf, '\\', 'f')
	default:
		w.buf = append(w.buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
}
