package flags

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// values are the values of the flags of newTide.
type values struct {
	Text, Level string
	On, Off     bool
	Names       []string
	Addresses   []string
	Wait        time.Duration
}

// newTide returns a program with a flag of each kind.
func newTide() (*Program, *values) {
	v := &values{}
	p := New("tide", "Predicts tides.\n\n  tide --now")
	moon := p.Group("Moon")
	moon.StringVar(&v.Text, "text", "", "A text.")
	BindEnvironment(moon, "text", "TIDE_TEXT")
	ChoiceVar(moon, &v.Level, "level", "A level.", "info", "warn")
	moon.BoolVar(&v.On, "on", true, "On.")
	moon.BoolVar(&v.Off, "off", false, "Off.")
	sea := p.Group("Sea")
	ListVar(sea, &v.Names, "names", "name", "Names.", "a", "b", "c")
	sea.StringArrayVar(&v.Addresses, "address", []string{":1"}, "Addresses.")
	sea.DurationVar(&v.Wait, "wait", 2*time.Minute, "A wait.")
	return p, v
}

func TestFlagsSetTheirValues(t *testing.T) {
	standard := values{Level: "info", On: true, Addresses: []string{":1"}, Wait: 2 * time.Minute}
	for _, tc := range []struct {
		name     string
		variable string
		args     string
		want     func(*values)
	}{
		{"defaults", "", "", func(*values) {}},
		{"a text after a space", "", "--text x", func(v *values) { v.Text = "x" }},
		{"a variable", "y", "", func(v *values) { v.Text = "y" }},
		{"a flag before its variable", "y", "--text=x", func(v *values) { v.Text = "x" }},
		{"an empty flag before its variable", "y", "--text=", func(*values) {}},
		{"switches", "", "--no-on --off", func(v *values) { v.On, v.Off = false, true }},
		{"switches with values", "", "--on=false --off=true", func(v *values) { v.On, v.Off = false, true }},
		{"a repeated list", "", "--names=a,b --names=b,,c", func(v *values) { v.Names = []string{"a", "b", "c"} }},
		{"addresses replace the default", "", "--address=:2 --address=:3",
			func(v *values) { v.Addresses = []string{":2", ":3"} }},
		{"a choice", "", "--level=warn", func(v *values) { v.Level = "warn" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("TIDE_TEXT", tc.variable)
			p, got := newTide()
			want := standard
			tc.want(&want)
			err := p.Parse(strings.Fields(tc.args), io.Discard)
			if diff := cmp.Diff(&want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	for args, want := range map[string]string{
		"now":                 "unexpected now",
		"--tomorrow":          "unknown flag: --tomorrow",
		"--no-text":           "unknown flag: --no-text",
		"--no-help":           "unknown flag: --no-help",
		"--text":              "needs an argument",
		"--text=a --text=b":   "--text cannot be repeated",
		"--on --no-on":        "--on cannot be repeated",
		"--no-on --no-on":     "--on cannot be repeated",
		"--level=debug":       "must be one of info, warn",
		"--names=a,d":         `there is no name "d", only a, b, c`,
		"--wait=soon":         "--wait",
		"--on=perhaps":        "--on",
		"--no-on=perhaps":     "--no-on",
		"--wait=1s --wait=2s": "--wait cannot be repeated",
	} {
		t.Run(args, func(t *testing.T) {
			p, _ := newTide()
			err := p.Parse(strings.Fields(args), io.Discard)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("the error is %v", err)
			}
			var out bytes.Buffer
			status := ReportError(&out, "tide", err)
			if status != 2 || !strings.HasSuffix(out.String(), "\ntide: --help lists the flags\n") {
				t.Errorf("the status is %d, and it prints %s", status, &out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	p, _ := newTide()
	var out bytes.Buffer
	err := p.Parse([]string{"--help", "--tomorrow"}, &out)
	if !errors.Is(err, ErrPrinted) || ReportError(io.Discard, "tide", err) != 0 {
		t.Errorf("the error is %v", err)
	}
	want := `usage: tide [<flags>]

Predicts tides.

  tide --now

Program:
  -h, --help      Show this help.
      --version   Show the version.

Moon:
      --text string    A text. ($TIDE_TEXT)
      --level string   A level. (default "info")
      --[no-]on        On. (default true)
      --[no-]off       Off.

Sea:
      --names NAME,...        Names.
      --address stringArray   Addresses. (default :1)
      --wait duration         A wait. (default 2m)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVersion(t *testing.T) {
	p, _ := newTide()
	var out bytes.Buffer
	if err := p.Parse([]string{"--version"}, &out); !errors.Is(err, ErrPrinted) ||
		!strings.HasPrefix(out.String(), "tide, version ") {
		t.Errorf("%v\n%s", err, &out)
	}
}
