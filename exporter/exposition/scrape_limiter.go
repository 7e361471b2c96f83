package exposition

import (
	"fmt"
	"net/http"
)

// ScrapeLimiter bounds the number of concurrent scrapes; nil means no limit.
type ScrapeLimiter chan struct{}

// NewScrapeLimiter returns a limiter of most concurrent scrapes; 0 or less means no limit.
func NewScrapeLimiter(most int) ScrapeLimiter {
	if most <= 0 {
		return nil
	}
	return make(ScrapeLimiter, most)
}

// Guard returns a handler that answers 503 while the maximum number of scrapes is being served.
func (s ScrapeLimiter) Guard(serve http.HandlerFunc) http.Handler {
	if s == nil {
		return serve
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s <- struct{}{}:
			defer func() { <-s }()
			serve(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d scrapes are already being served, which is the maximum", cap(s)),
				http.StatusServiceUnavailable)
		}
	})
}
