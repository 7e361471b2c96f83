package slurmtest

import (
	"net/http"
	"strings"
	"sync"
)

// controllerName is the host name of slurmctld.
const controllerName = "ctl"

// server is the HTTP side of a Cluster.
type server struct {
	routes   map[string]route
	writers  map[string]func() (*writers, error)
	requests requests
	rpcs     rpcs
	faults   faults
}

func newServer(cfg Config) *server {
	s := &server{routes: map[string]route{}, writers: map[string]func() (*writers, error){}}
	for _, v := range cfg.Versions {
		s.writers[v] = sync.OnceValues(func() (*writers, error) { return newWriters(cfg, v) })
	}
	for _, r := range apiRoutes() {
		s.routes[r.method+" "+r.path] = r
	}
	return s
}

func releaseText(release string) string {
	if release == Release2411 {
		return "24.11.5"
	}
	return "26.05.5"
}

// Handler answers as the cluster's slurmrestd does. Any number of servers may use it at once.
func (c *Cluster) Handler() http.Handler { return http.HandlerFunc(c.serveHTTP) }

func (c *Cluster) serveHTTP(w http.ResponseWriter, r *http.Request) {
	route, version, arg, known := c.findRoute(r.Method, r.URL.Path)
	defer c.requests.begin(r.Method, r.URL.Path, route)()
	w, fault := c.faults.apply(w, r)
	if w == nil {
		return
	}
	if r.URL.Path == "/openapi/v3" {
		c.serveOpenAPI(w)
		return
	}
	if !known {
		writePlainText(w, http.StatusNotFound, c.notFoundText())
		return
	}
	wr, err := c.writers[version]()
	if err != nil {
		writePlainText(w, http.StatusInternalServerError, err.Error())
		return
	}
	k := &call{Cluster: c, w: w, r: r, route: route, version: version, pathValue: arg, recordWriters: wr, fault: fault}
	if k.admit() {
		c.rpcs.add(route, k.user)
		route.serve(k)
	}
}

func (c *Cluster) notFoundText() string {
	if c.cfg.Release == Release2411 {
		return "Unable find requested URL. Please view /openapi/v3 for API reference."
	}
	return "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit " +
		"'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list " +
		"of all possible slurmrestd endpoints."
}

// findRoute returns the route for a path and the value of its placeholder.
func (c *Cluster) findRoute(method, path string) (r route, version, arg string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 3 || !c.cfg.serves(parts[1]) {
		return route{}, "", "", false
	}
	version = parts[1]
	tail := parts[2:]
	patterns := []string{strings.Join(tail, "/")}
	if len(tail) >= 2 {
		patterns = append(patterns, strings.Join(append([]string{tail[0], "{}"}, tail[2:]...), "/"))
	}
	for i, p := range patterns {
		r, ok = c.routes[method+" /"+parts[0]+"/"+p]
		if ok && version >= r.sinceVersion && !(parts[0] == "slurmdb" && c.cfg.NoAccounting) {
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
func (c *Cluster) serveOpenAPI(w http.ResponseWriter) {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.3","info":{"title":"Slurm REST API","version":"` +
		releaseText(c.cfg.Release) + `"},"paths":{`)
	first := true
	for _, v := range c.cfg.Versions {
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
