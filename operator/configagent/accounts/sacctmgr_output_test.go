package accounts

import (
	"strings"
	"testing"
)

const physics = `      Name                Descr                  Org                  QOS
---------- -------------------- -------------------- --------------------
   physics              physics              physics
---------------------------------------------------
`

func TestSummarize(t *testing.T) {
	for _, tc := range []struct{ name, output, want string }{
		{"nothing", "For cluster slurm\n Nothing new added.\n", ""},
		{"new accounts and users", `For cluster slurm
Accounts
` + physics + `
Account Associations
   Account   Par Name     Share   GrpTRESMins
---------- ---------- --------- -------------
   physics       root         1
--------------------------------------------------------------

Users
      Name   Def Acct  Def WCKey                  QOS     Admin       Coord Accounts
---------- ---------- ---------- -------------------- --------- --------------------
     alice    physics                                    Not Se
---------------------------------------------------

User Associations
      User    Account     Share   GrpTRESMins
---------- ---------- --------- -------------
     alice    physics         1
       bob    physics         1
--------------------------------------------------------------

Would you like to commit changes? (You have 30 seconds to decide)
(N/y):
 Changes Discarded
`, "adds accounts physics; adds to the cluster accounts physics; adds users alice; " +
			"adds to accounts users alice (physics), bob (physics)"},
		{"changes", ` Changed fairshare              for Account physics           1 -> 5
 Added QOS                      for User    alice          high
 Making User 'alice' coordinator of account 'physics'
`, "Changed fairshare for Account physics 1 -> 5; Added QOS for User alice high; " +
			"Making User 'alice' coordinator of account 'physics'"},
	} {
		if got := Summarize(tc.output); got != tc.want {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, tc := range []struct{ name, output, want string }{
		{"nothing", " Nothing new added.\n", "sacctmgr does not say why"},
		{"a line that does not exist", "sacctmgr: error: x\n Problem with line(9)\n", "x; Problem with line(9)"},
		{"a line", " line(2) You need to add this parent (x)\n", `line 2, "b": You need to add this parent (x)`},
	} {
		if got := explain(tc.output, "a\n b\n"); got != tc.want {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
	if got := explain(strings.Repeat("ä", maxReason), ""); len(got) > maxReason+3 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("a long reason ends with %q after %d bytes", got[len(got)-10:], len(got))
	}
}
