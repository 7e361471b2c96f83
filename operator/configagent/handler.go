package configagent

import (
	"encoding/json"
	"net/http"
)

// Handler serves the agent's status: /status returns it in JSON, and /started answers 200 once the daemon can
// start.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a.Status()) // the client has gone
	})
	mux.HandleFunc("GET /started", func(w http.ResponseWriter, _ *http.Request) {
		if !a.HasStarted() {
			http.Error(w, a.cfg.Daemon.Name+" has no configuration: "+a.Status().Error, http.StatusServiceUnavailable)
		}
	})
	return mux
}
