package v1beta1

import (
	"bytes"
	stdjson "encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var (
	// farExponent matches a number with an exponent of more than three digits. Kubernetes'
	// parser of quantities writes such numbers out, which takes minutes for "1e-999999999".
	farExponent = regexp.MustCompile(`[0-9.][eE][+-]?0*[1-9][0-9]{3,}$`)
	// maybeFar matches a document that may have such a number. An escape may hide one.
	maybeFar = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{4}|\\u`)
)

// checkQuantities returns the first quantity of a Kubernetes object whose exponent no
// resource can have, nil for none. Malformed JSON is left to the decoder.
func checkQuantities(text []byte) *MalformedError {
	if !maybeFar.Match(text) || !stdjson.Valid(text) {
		return nil
	}
	d := stdjson.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return checkValue(d, nil)
}

// checkValue looks at the next value of the document, which is at the path.
func checkValue(d *stdjson.Decoder, at path) *MalformedError {
	token, _ := d.Token()
	switch v := token.(type) {
	case stdjson.Delim:
		return checkMembers(d, at, v == '{')
	case string:
		return checkQuantity(v, at)
	case stdjson.Number:
		return checkQuantity(v.String(), at)
	}
	return nil
}

// checkMembers looks at the values of an object or of a list, up to its end.
func checkMembers(d *stdjson.Decoder, at path, object bool) *MalformedError {
	for i := 0; d.More(); i++ {
		step := "[" + strconv.Itoa(i) + "]"
		if object {
			key, _ := d.Token()
			step, _ = key.(string)
		}
		if bad := checkValue(d, append(at, step)); bad != nil {
			return bad
		}
	}
	_, _ = d.Token() // the bracket
	return nil
}

// checkQuantity looks at a text or a number, if a quantity belongs at the path.
func checkQuantity(text string, at path) *MalformedError {
	if len(at) < 2 || !farExponent.MatchString(strings.TrimSpace(text)) {
		return nil
	}
	switch in, name := at[len(at)-2], at[len(at)-1]; {
	case in == "limits", in == "requests", in == "overhead":
	case in == "emptyDir" && name == "sizeLimit", in == "resourceFieldRef" && name == "divisor":
	default:
		return nil
	}
	return &MalformedError{Path: at.String(), Problem: "must be a quantity whose exponent has three digits at most"}
}
