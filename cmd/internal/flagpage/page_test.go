package flagpage

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// newApp returns a program with a flag of each kind.
func newApp() *kingpin.Application {
	var text, file, variable, level string
	var on, off bool
	var list []string
	var wait time.Duration
	a := kingpin.New("tide", "Predicts tides.\n\nAnd of\nthe moon.\n\n  tide --now\n  tide --then")
	a.Flag("text", "A text, a|b.").Short('t').Envar("TIDE_TEXT").StringVar(&text)
	a.Flag("file", "A file.").PlaceHolder("FILE").StringVar(&file)
	a.Flag("token-env", "A variable.").Default("TIDE_TOKEN").StringVar(&variable)
	a.Flag("level", "A level.").Default("info").EnumVar(&level, "info", "warn")
	a.Flag("on", "On.").Default("true").BoolVar(&on)
	a.Flag("off", "Off.").BoolVar(&off)
	a.Flag("many", "Many.").Default("a", "b").StringsVar(&list)
	a.Flag("wait", "A wait. Default: 5s.").SetValue((*duration)(&wait))
	a.Flag("secret", "").Hidden().BoolVar(new(bool))
	wait = 5 * time.Second
	return a
}

// duration is a flag value of a library, which has its default before the flags are parsed.
type duration time.Duration

func (d *duration) Set(string) error { return nil }
func (d *duration) String() string   { return time.Duration(*d).String() }

func TestThePage(t *testing.T) {
	got, err := Render(newApp().Model())
	want := `# tide

This page is generated: change the flags in ` + "`cmd/tide`" + ` and run ` + "`make generate`" + `.

Predicts tides.

And of
the moon.

` + "```\ntide --now\ntide --then\n```" + `

## Flags

A switch ` + "`--x` is turned off by `--no-x`" + `. A flag marked … may be repeated.

| flag | default | meaning |
|---|---|---|
| ` + "`--help`" + ` |  | Show context-sensitive help (also try --help-long and --help-man). |
| ` + "`-t`, `--text`" + ` |  | A text, a\|b. |
| ` + "`--file=FILE`" + ` |  | A file. |
| ` + "`--token-env` | `TIDE_TOKEN`" + ` | A variable. |
| ` + "`--level` | `info`" + ` | A level. |
| ` + "`--on`" + ` | on | On. |
| ` + "`--off`" + ` |  | Off. |
| ` + "`--many` … | `a,b`" + ` | Many. |
| ` + "`--wait` | `5s`" + ` | A wait. |

## Environment variables

| variable | meaning |
|---|---|
| ` + "`TIDE_TEXT` | value of `--text`" + `; the flag takes precedence |
| ` + "`TIDE_TOKEN` | default variable of `--token-env`" + ` |
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAFlagWithoutHelpIsAnError(t *testing.T) {
	a := newApp()
	a.Flag("mute", " ").Bool()
	a.Flag("dumb", "").Bool()
	if _, err := Render(a.Model()); err == nil ||
		!strings.Contains(err.Error(), "flags of tide have no help: --mute, --dumb") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPageWithoutVariablesHasNoSectionForThem(t *testing.T) {
	got, err := Render(kingpin.New("tide", "Predicts tides.").Model())
	if err != nil || strings.Contains(got, "nvironment") {
		t.Errorf("%v\n%s", err, got)
	}
}
