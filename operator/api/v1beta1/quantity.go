package v1beta1

import (
	"bytes"
	stdjson "encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var (
	// farExponent matches a number whose exponent has more than three digits. Kubernetes' quantity
	// parser expands such numbers, which takes minutes for "1e-999999999".
	farExponent = regexp.MustCompile(`[0-9.][eE][+-]?0*[1-9][0-9]{3,}$`)
	// mayHaveFarExponent matches a document that may contain such a number. An escape may hide one.
	mayHaveFarExponent = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{4}|\\u`)
)

// checkQuantities returns an error for the first quantity of a Kubernetes object whose exponent is too
// large, or nil if there is none. It ignores malformed JSON, which the decoder rejects.
func checkQuantities(text []byte) *MalformedError {
	if !mayHaveFarExponent.Match(text) || !stdjson.Valid(text) {
		return nil
	}
	d := stdjson.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return checkValue(d, nil)
}

// checkValue checks the next value of the document. at is its path.
func checkValue(d *stdjson.Decoder, at jsonPath) *MalformedError {
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

// checkMembers checks the values of an object or list up to its end.
func checkMembers(d *stdjson.Decoder, at jsonPath, object bool) *MalformedError {
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
	_, _ = d.Token() // the closing bracket
	return nil
}

// checkQuantity checks a string or number if the value at the path is a quantity.
func checkQuantity(text string, at jsonPath) *MalformedError {
	if len(at) < 2 || !farExponent.MatchString(strings.TrimSpace(text)) {
		return nil
	}
	switch in, name := at[len(at)-2], at[len(at)-1]; {
	case in == "limits", in == "requests", in == "overhead":
	case in == "emptyDir" && name == "sizeLimit", in == "resourceFieldRef" && name == "divisor":
	default:
		return nil
	}
	return &MalformedError{Path: at.String(), Problem: "must be a quantity whose exponent has at most three digits"}
}
