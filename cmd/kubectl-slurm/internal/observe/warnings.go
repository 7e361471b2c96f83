package observe

import (
	"slices"
	"sync"
)

// miscellaneous is the code of the warnings that are meant for people (RFC 7234).
const miscellaneous = 299

// warnings keeps what the API server warned of, each sentence once.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == miscellaneous && text != "" && !slices.Contains(w.said, text) {
		w.said = append(w.said, text)
	}
}

// Warned returns what the API server has warned of since the last call, such as that
// not every job is shown.
func (a *API) Warned() []string {
	a.warnings.mu.Lock()
	defer a.warnings.mu.Unlock()
	out := a.warnings.said
	a.warnings.said = nil
	return out
}
