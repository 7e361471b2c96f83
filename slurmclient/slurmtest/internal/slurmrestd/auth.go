package slurmrestd

import (
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

// ControllerState is the state of slurmctld.
type ControllerState uint8

// The states of slurmctld. slurmrestd itself keeps answering in all of them.
const (
	ControllerUp ControllerState = iota
	// ControllerDown is a slurmctld that does not run: requests fail at once.
	ControllerDown
	// ControllerHung is a stopped slurmctld: it accepts requests and does not answer them. It
	// serves them once it is up again.
	ControllerHung
)

// SetControllerState changes the state of slurmctld. ControllerUp serves the requests that a hung
// slurmctld accepted before it returns.
func (s *Server) SetControllerState(state ControllerState) {
	s.mu.Lock()
	s.controller = state
	var late []func()
	if state == ControllerUp {
		late, s.postponed = s.postponed, nil
	}
	s.mu.Unlock()
	for _, do := range late {
		do()
	}
}

// controllerState returns the state of slurmctld that this request meets.
func (k *call) controllerState() ControllerState {
	switch k.fault {
	case FaultControllerDown:
		return ControllerDown
	case FaultControllerHung:
		return ControllerHung
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.controller
}

// admit checks the token and slurmctld. It answers and returns false if the request must not be
// served.
func (k *call) admit() bool {
	token := k.r.Header.Get("X-SLURM-USER-TOKEN")
	if token == "" {
		token = strings.TrimPrefix(k.r.Header.Get("Authorization"), "Bearer ")
	}
	if token == "" {
		writePlainText(k.w, http.StatusUnauthorized, "Authentication failure")
		return false
	}
	user, ok := k.userOf(token, k.r.Header.Get("X-SLURM-USER-NAME"))
	k.user = user
	ok = ok && k.fault != FaultToken
	state := k.controllerState()
	switch {
	case k.route.path == "/slurm/ping":
		k.answerPing(ok, state)
		return false
	case k.route.isDatabase() && !ok:
		k.refuseDatabase()
		return false
	case k.route.isDatabase():
		return true
	case !ok:
		k.fail(http.StatusNetworkAuthenticationRequired, 1007)
		return false
	}
	return k.checkController(state)
}

func (k *call) refuseDatabase() {
	text := "Failed to open slurmdbd connection"
	if k.cfg.Release == slurmctld.Release2411 {
		text += ", authentication error"
	}
	k.answer(http.StatusBadGateway, nil, []problem{{7000, errno.Text(7000), text, "openapi_get_db_conn"}}, nil)
}

// checkController reports whether slurmctld answers. If not, it answers with the error.
func (k *call) checkController(state ControllerState) bool {
	switch state {
	case ControllerDown:
		k.fail(http.StatusBadGateway, 1800)
	case ControllerHung:
		k.postpone()
		sleepUnlessDone(k.r, k.cfg.MessageTimeout)
		k.fail(http.StatusGatewayTimeout, 5004)
	default:
		return true
	}
	return false
}

// userOf checks a token and returns its user. Only administrators may name another user.
func (s *Server) userOf(token, as string) (string, bool) {
	if s.cfg.Key == nil {
		if as != "" {
			return as, true
		}
		return "root", true
	}
	claims := jwt.MapClaims{}
	_, err := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(s.cfg.Now)).ParseWithClaims(
		token, claims, func(*jwt.Token) (any, error) { return s.cfg.Key, nil })
	if err != nil {
		return "", false
	}
	user, _ := claims["sun"].(string)
	if user == "" {
		user, _ = claims["username"].(string)
	}
	if as == "" || as == user {
		return user, user != ""
	}
	return as, s.isAdmin(user)
}

func (s *Server) isAdmin(user string) bool {
	u, _ := s.cluster.User(user)
	return u.Admin
}

func (k *call) isAdmin() bool { return k.Server.isAdmin(k.user) }

// ping does nothing: admit answers pings.
func (k *call) ping() {}

// answerPing answers a ping. A ping never fails: it reports that slurmctld does not respond, even if the token is bad.
func (k *call) answerPing(ok bool, state ControllerState) {
	p := pingRecord{up: ok && state == ControllerUp, status: errno.Text(0), micros: 900}
	switch {
	case state == ControllerDown:
		p.status = errno.Text(1800)
	case state == ControllerHung:
		p.status = errno.Text(5004)
	case !ok:
		p.status = errno.Text(1007)
	}
	if state == ControllerHung {
		sleepUnlessDone(k.r, k.cfg.MessageTimeout)
	}
	k.answer(http.StatusOK, func(o *answerWriter) { writeList(o, "pings", k.recordWriters.ping, []pingRecord{p}) }, nil,
		nil)
}
