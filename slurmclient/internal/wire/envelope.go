package wire

import (
	"bytes"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Problem is one entry of the errors of an answer, or of the status array in the answer to cancelling a
// job.
type Problem struct {
	Description, Text string
	Number            int
}

// Outline contains the metadata of an answer.
type Outline struct {
	Server     slurm.Server
	LastUpdate slurm.Time
	Errors     []Problem
	// Warnings are texts for logs; no decision may depend on them.
	Warnings []string
	// Keys are the members that the answer has.
	Keys map[string]bool
}

// ReadOutline reads the metadata of a complete answer. It returns false if the body is not a JSON
// object.
func ReadOutline(body []byte) (Outline, bool) {
	out := Outline{Keys: map[string]bool{}}
	body = bytes.TrimSpace(body)
	if end, err := skipValue(body, 0); err != nil || end != len(body) || body[0] != '{' {
		return out, false
	}
	var env Envelope
	var status []byte
	eachMember(body, func(key, value []byte) {
		out.Keys[string(key)] = true
		switch string(key) {
		case "last_update":
			env.LastUpdate = value
		case "meta":
			env.Meta = value
		case "errors":
			env.Errors = value
		case "warnings":
			env.Warnings = value
		case "status":
			status = value
		}
	})
	keys := out.Keys
	out = env.Outline()
	out.Keys = keys
	eachElement(status, func(v []byte) { out.addStatus(v) })
	return out, true
}

// Outline reads the metadata in the envelope of a list.
func (e *Envelope) Outline() Outline {
	out := Outline{LastUpdate: parseTime(e.LastUpdate), Server: readServer(e.Meta)}
	if v := e.Errors; len(v) > 0 && v[0] != '[' && string(v) != "null" {
		out.Errors = append(out.Errors, Problem{Description: "the errors of the answer are not a list"})
	}
	eachElement(e.Errors, func(v []byte) {
		var p Problem
		eachMember(v, func(key, value []byte) {
			switch string(key) {
			case "description":
				p.Description = string(parseText(value))
			case "error":
				p.Text = string(parseText(value))
			case "error_number":
				n, _ := parseSigned(value)
				p.Number = int(n)
			}
		})
		out.Errors = append(out.Errors, p)
	})
	eachElement(e.Warnings, func(v []byte) {
		eachMember(v, func(key, value []byte) {
			if string(key) == "description" {
				out.Warnings = append(out.Warnings, string(parseText(value)))
			}
		})
	})
	return out
}

// addStatus adds the error of one entry of a status array; code 0 means success.
func (o *Outline) addStatus(v []byte) {
	eachMember(v, func(key, value []byte) {
		if string(key) != "error" {
			return
		}
		var p Problem
		eachMember(value, func(key, value []byte) {
			switch string(key) {
			case "code":
				n, _ := parseSigned(value)
				p.Number = int(n)
			case "message":
				p.Text = string(parseText(value))
			}
		})
		if p.Number != 0 {
			o.Errors = append(o.Errors, p)
		}
	})
}

func readServer(meta []byte) slurm.Server {
	var s slurm.Server
	eachMember(meta, func(key, value []byte) {
		switch string(key) {
		case "slurm":
			eachMember(value, func(key, value []byte) {
				switch string(key) {
				case "release":
					s.Release = string(parseText(value))
				case "cluster":
					s.Cluster = string(parseText(value))
				}
			})
		case "plugin":
			eachMember(value, func(key, value []byte) {
				if string(key) == "accounting_storage" {
					s.Accounting = string(parseText(value))
					s.NoAccounting = string(value) == `""`
				}
			})
		}
	})
	return s
}
