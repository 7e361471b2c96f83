package process

import (
	"errors"
	"strings"
	"testing"
)

func TestAProgramEndsAsItIsTold(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"one that ends well is no error", `trap 'exit 0' TERM; echo up; while :; do read -t 0.05 <> <(:); done`, ""},
		{"one that ends badly is one", `trap 'exit 3' TERM; echo up; while :; do read -t 0.05 <> <(:); done`,
			"bash ended with exit status 3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Launch("bash", "-c", tc.script)
			if err != nil {
				t.Fatal(err)
			}
			Await(t, func() error {
				if strings.Contains(p.Log(), "up") {
					return nil
				}
				return errors.New("the program has not printed up")
			})
			if p.PID() <= 0 {
				t.Errorf("the process id is %d", p.PID())
			}
			for range 2 {
				err, text := p.Stop(), ""
				if err != nil {
					text = err.Error()
				}
				if text != tc.want {
					t.Errorf("Stop returned %q", text)
				}
			}
		})
	}
}

func TestKilledProcessIsNoError(t *testing.T) {
	p, err := Launch("sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotThereCannotBeStarted(t *testing.T) {
	if _, err := Launch("/no/such/program"); err == nil || !strings.HasPrefix(err.Error(), "starting program: ") {
		t.Errorf("the error is %v", err)
	}
	if err := CheckOK("http://" + FreeAddress(t)); err == nil {
		t.Error("CheckOK succeeds for a port on which nobody listens")
	}
}
