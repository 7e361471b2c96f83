package slurmconf

import (
	"encoding/json"
	"fmt"
)

// AccountsFile is the file beside slurmdbd.conf with the accounts that the database should have. slurm-agent
// applies it; slurmdbd does not read it.
const AccountsFile = "slurmtide.accounts"

// Accounts is the content of AccountsFile.
type Accounts struct {
	// Revision is a hash of the other fields.
	Revision string `json:"revision"`
	// DryRun changes nothing. Prune removes accounts and users that are not in the files.
	DryRun bool `json:"dryRun,omitempty"`
	Prune  bool `json:"prune,omitempty"`
	// Removals names the large removals that a user confirmed (v1beta1.AnnotationRemoveAccounts).
	Removals []string `json:"removals,omitempty"`
	// Files are texts in the format of "sacctmgr dump" by their names.
	Files map[string]string `json:"files"`
}

// Render returns the content of AccountsFile.
func (a Accounts) Render() (string, error) {
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return "", fmt.Errorf("rendering %s: %w", AccountsFile, err)
	}
	return string(text) + "\n", nil
}

// ParseAccounts reads the content of AccountsFile.
func ParseAccounts(text string) (Accounts, error) {
	var out Accounts
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("reading %s: %w", AccountsFile, err)
	}
	return out, nil
}
