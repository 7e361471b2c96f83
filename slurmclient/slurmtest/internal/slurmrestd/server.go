// Package slurmrestd answers HTTP requests from a model of a Slurm cluster, as the slurmrestd of one Slurm
// release does: in every API version of that release, with its errors and quirks.
package slurmrestd

import (
	"net/http"
	"strings"
	"sync"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

// controllerName is the host name of slurmctld.
const controllerName = "ctl"

// Server is the slurmrestd of a cluster. Its methods and its Handler are safe for concurrent use.
type Server struct {
	cfg      slurmctld.Config
	cluster  *slurmctld.Cluster
	routes   map[string]route
	writers  map[string]func() (*writers, error)
	requests requests
	rpcs     rpcs
	faults   faults

	mu         sync.Mutex
	controller ControllerState
	// postponed are the requests that a hung slurmctld received and has not served yet.
	postponed []func()
}

// New returns the slurmrestd of a cluster.
func New(c *slurmctld.Cluster) *Server {
	cfg := c.Config()
	s := &Server{cfg: cfg, cluster: c, routes: map[string]route{}, writers: map[string]func() (*writers, error){}}
	for _, v := range cfg.Versions {
		s.writers[v] = sync.OnceValues(func() (*writers, error) { return newWriters(cfg, v) })
	}
	for _, r := range apiRoutes() {
		s.routes[r.method+" "+r.path] = r
	}
	return s
}

// Handler answers as the cluster's slurmrestd does. Any number of servers may use it at once.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	route, version, arg, known := s.findRoute(r.Method, r.URL.Path)
	defer s.requests.begin(r.Method, r.URL.Path, route)()
	w, fault := s.faults.apply(w, r)
	if w == nil {
		return
	}
	if r.URL.Path == "/openapi/v3" {
		s.serveOpenAPI(w)
		return
	}
	if !known {
		writePlainText(w, http.StatusNotFound, s.notFoundText())
		return
	}
	wr, err := s.writers[version]()
	if err != nil {
		writePlainText(w, http.StatusInternalServerError, err.Error())
		return
	}
	k := &call{Server: s, w: w, r: r, route: route, version: version, pathValue: arg, recordWriters: wr, fault: fault}
	if k.admit() {
		s.rpcs.add(route, k.user)
		route.serve(k)
	}
}

func (s *Server) notFoundText() string {
	if s.cfg.Release == slurmctld.Release2411 {
		return "Unable find requested URL. Please view /openapi/v3 for API reference."
	}
	return "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit " +
		"'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list " +
		"of all possible slurmrestd endpoints."
}

// findRoute returns the route for a path and the value of its placeholder.
func (s *Server) findRoute(method, path string) (r route, version, arg string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 3 || !s.cfg.Serves(parts[1]) {
		return route{}, "", "", false
	}
	version = parts[1]
	tail := parts[2:]
	patterns := []string{strings.Join(tail, "/")}
	if len(tail) >= 2 {
		patterns = append(patterns, strings.Join(append([]string{tail[0], "{}"}, tail[2:]...), "/"))
	}
	for i, p := range patterns {
		r, ok = s.routes[method+" /"+parts[0]+"/"+p]
		if ok && version >= r.sinceVersion && !(parts[0] == "slurmdb" && s.cfg.NoAccounting) {
			if i == 1 {
				arg = tail[1]
			}
			return r, version, arg, true
		}
	}
	return route{}, version, "", false
}

func writePlainText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// serveOpenAPI answers with the outline of an OpenAPI document: the paths that can be read.
func (s *Server) serveOpenAPI(w http.ResponseWriter) {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.3","info":{"title":"Slurm REST API","version":"` +
		s.cfg.FullRelease() + `"},"paths":{`)
	first := true
	for _, v := range s.cfg.Versions {
		for _, r := range apiRoutes() {
			if v < r.sinceVersion || r.method != http.MethodGet {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteString(`"` + r.versionedPath(v) + `":{"get":{}}`)
		}
	}
	b.WriteString("}}")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(b.String()))
}
