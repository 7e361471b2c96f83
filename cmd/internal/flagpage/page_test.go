package flagpage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

// newTide returns a program with a flag of each kind.
func newTide() (*flags.Program, *pflag.FlagSet) {
	var level string
	var list []string
	p := flags.New("tide", "Predicts tides.\n\nAnd of\nthe moon.\n\n  tide --now\n  tide --then")
	set := p.Group("Tide")
	set.StringP("text", "t", "", "A text, a|b.")
	flags.BindEnvironment(set, "text", "TIDE_TEXT")
	set.String("token-env", "TIDE_TOKEN", "A variable.")
	flags.ChoiceVar(set, &level, "level", "A level.", "info", "warn")
	set.Bool("on", true, "On.")
	set.Bool("off", false, "Off.")
	set.StringArray("many", []string{"a", "b"}, "Many.")
	flags.ListVar(set, &list, "names", "name", "Names.")
	set.StringSlice("few", []string{"a", "b"}, "Few.")
	set.Int("limit", 0, "A limit.")
	set.Duration("wait", 5*time.Minute, "A wait.")
	set.Bool("secret", false, "")
	set.Lookup("secret").Hidden = true
	return p, set
}

func TestThePage(t *testing.T) {
	program, _ := newTide()
	got, err := Render(program)
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
| ` + "`-h`, `--help`" + ` |  | Show this help. |
| ` + "`--version`" + ` |  | Show the version. |
| ` + "`-t`, `--text`" + ` |  | A text, a\|b. |
| ` + "`--token-env` | `TIDE_TOKEN`" + ` | A variable. |
| ` + "`--level` | `info`" + ` | A level. |
| ` + "`--on`" + ` | on | On. |
| ` + "`--off`" + ` |  | Off. |
| ` + "`--many` … | `a,b`" + ` | Many. |
| ` + "`--names=NAME,…` …" + ` |  | Names. |
| ` + "`--few` | `a,b`" + ` | Few. |
| ` + "`--limit` | `0`" + ` | A limit. |
| ` + "`--wait` | `5m`" + ` | A wait. |

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
	program, set := newTide()
	set.Bool("mute", false, " ")
	set.Bool("dumb", false, "")
	if _, err := Render(program); err == nil ||
		!strings.Contains(err.Error(), "flags of tide have no help: --mute, --dumb") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPageWithoutVariablesHasNoSectionForThem(t *testing.T) {
	got, err := Render(flags.New("tide", "Predicts tides."))
	if err != nil || strings.Contains(got, "nvironment") {
		t.Errorf("%v\n%s", err, got)
	}
}
