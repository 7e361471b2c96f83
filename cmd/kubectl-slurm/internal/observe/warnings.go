package observe

import (
	"slices"
	"sync"
)

// miscellaneous is the code of warnings for people (RFC 7234).
const miscellaneous = 299

// warnings collects the API server's warnings without duplicates.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == miscellaneous && text != "" && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// TakeWarnings returns and clears the API server's warnings, such as that the view does not show
// every job.
func (a *API) TakeWarnings() []string {
	a.warnings.mu.Lock()
	defer a.warnings.mu.Unlock()
	out := a.warnings.texts
	a.warnings.texts = nil
	return out
}
