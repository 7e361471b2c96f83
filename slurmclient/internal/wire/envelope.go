package wire

import (
	"bytes"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Problem is one entry of an answer's errors array, or of the status array that
// cancelling a job returns.
type Problem struct {
	Description, Text string
	Number            int
}

// Outline is what every answer says around its payload.
type Outline struct {
	Server     slurm.Server
	LastUpdate slurm.Time
	Errors     []Problem
	// Warnings are texts for a log; nothing may depend on them.
	Warnings []string
	// Keys are the members that the answer has.
	Keys map[string]bool
}

// ReadOutline reads what it can of a whole answer; a body that is no JSON object
// gives false.
func ReadOutline(body []byte) (Outline, bool) {
	out := Outline{Keys: map[string]bool{}}
	body = bytes.TrimSpace(body)
	if end, err := skipValue(body, 0); err != nil || end != len(body) || body[0] != '{' {
		return out, false
	}
	var env Envelope
	var status []byte
	members(body, func(key, value []byte) {
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
	elements(status, func(v []byte) { out.addStatus(v) })
	return out, true
}

// Outline reads the raw members of a list's envelope.
func (e *Envelope) Outline() Outline {
	out := Outline{LastUpdate: moment(e.LastUpdate), Server: readServer(e.Meta)}
	if v := e.Errors; len(v) > 0 && v[0] != '[' && string(v) != "null" {
		out.Errors = append(out.Errors, Problem{Description: "the answer's errors are no list"})
	}
	elements(e.Errors, func(v []byte) {
		var p Problem
		members(v, func(key, value []byte) {
			switch string(key) {
			case "description":
				p.Description = string(text(value))
			case "error":
				p.Text = string(text(value))
			case "error_number":
				n, _ := signed(value)
				p.Number = int(n)
			}
		})
		out.Errors = append(out.Errors, p)
	})
	elements(e.Warnings, func(v []byte) {
		members(v, func(key, value []byte) {
			if string(key) == "description" {
				out.Warnings = append(out.Warnings, string(text(value)))
			}
		})
	})
	return out
}

// addStatus reads one entry of a cancelled job's status array; code 0 is success.
func (o *Outline) addStatus(v []byte) {
	members(v, func(key, value []byte) {
		if string(key) != "error" {
			return
		}
		var p Problem
		members(value, func(key, value []byte) {
			switch string(key) {
			case "code":
				n, _ := signed(value)
				p.Number = int(n)
			case "message":
				p.Text = string(text(value))
			}
		})
		if p.Number != 0 {
			o.Errors = append(o.Errors, p)
		}
	})
}

func readServer(meta []byte) slurm.Server {
	var s slurm.Server
	members(meta, func(key, value []byte) {
		switch string(key) {
		case "slurm":
			members(value, func(key, value []byte) {
				switch string(key) {
				case "release":
					s.Release = string(text(value))
				case "cluster":
					s.Cluster = string(text(value))
				}
			})
		case "plugin":
			members(value, func(key, value []byte) {
				if string(key) == "accounting_storage" {
					s.Accounting = string(text(value))
					s.NoAccounting = string(value) == `""`
				}
			})
		}
	})
	return s
}
