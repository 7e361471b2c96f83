package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/slurmtide/slurmtide/operator/configagent"
)

// record is a file with states of partitions by name.
type record string

// errDamaged reports that a record exists but is not readable.
var errDamaged = errors.New("the record of partitions is damaged")

// read returns the states, or nil without a file. Older agents wrote a list of the partitions that were UP.
func (r record) read() (map[string]string, error) {
	text, err := os.ReadFile(string(r))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the states of partitions: %w", err)
	}
	out := map[string]string{}
	if json.Unmarshal(text, &out) == nil && out != nil {
		return out, nil
	}
	var names []string
	if err := json.Unmarshal(text, &names); err != nil || names == nil {
		return nil, fmt.Errorf("%w: %s", errDamaged, r)
	}
	out = map[string]string{}
	for _, name := range names {
		out[name] = Up
	}
	return out, nil
}

// write replaces the file. It is on the disk when write returns.
func (r record) write(states map[string]string) error {
	text, err := json.Marshal(states)
	if err != nil {
		return err
	}
	if err := writeShared(string(r), text); err != nil {
		return fmt.Errorf("noting the states of partitions: %w", err)
	}
	return nil
}

// remove removes the file, if it exists.
func (r record) remove() error {
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the states of partitions: %w", err)
	}
	return nil
}

// writeShared replaces a file that several agents of a cluster may replace at the same time.
func writeShared(path string, text []byte) error {
	return configagent.WriteShared(path, configagent.File{Content: text, Mode: 0o600})
}
