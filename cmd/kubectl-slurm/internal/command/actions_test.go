package command

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestActionsAreRequestsToTheView(t *testing.T) {
	const places = "/apis/view.slinky.slurm.net/v1alpha1/namespaces/slurm/"
	for _, tc := range []struct{ name, args, path, spec, out string }{
		{"a drain, by a hostlist", "drain gpu-[0] --reason=disk", places + "slurmnodes/main.gpu-0/drain", `"spec":{"reason":"disk"}`,
			"node gpu-0: drain requested\n"},
		{"a resume, by the pod", "resume worker-0", places + "slurmnodes/main.gpu-0/resume", `"spec":{}`, "node gpu-0: resume requested\n"},
		{"a job", "cancel 7", places + "slurmjobs/main.7/cancel", `"spec":{}`, "job 7: cancel requested\n"},
		{"a hold", "hold 7", places + "slurmjobs/main.7/hold", `"spec":{}`, "job 7: hold requested\n"},
		{"a node named twice, by its pod", "resume gpu-0 worker-0", places + "slurmnodes/main.gpu-0/resume", `"spec":{}`,
			"node gpu-0: resume requested\n"},
		{"a job named twice", "cancel 7 7", places + "slurmjobs/main.7/cancel", `"metadata":{"uid":"uid-of-main"}`, "job 7: cancel requested\n"},
		{"a release", "release 7", places + "slurmjobs/main.7/release", `"spec":{}`, "job 7: release requested\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newPromptServer(t)
			asked := ""
			s.act = func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked += r.URL.Path + " " + string(body)
				w.WriteHeader(http.StatusCreated)
				_, _ = fmt.Fprint(w, `{}`)
			}
			out, err := s.run(t, append(strings.Fields(tc.args), "--cluster=main")...)
			if err != nil || out != tc.out || !strings.HasPrefix(asked, tc.path+" ") || !strings.Contains(asked, tc.spec) {
				t.Errorf("it prints %q, %v, and asks %s", out, err, asked)
			}
		})
	}
}

func TestActionsSayWhatIsWrong(t *testing.T) {
	s := newPromptServer(t)
	s.act = func(w http.ResponseWriter, r *http.Request) {
		status, text := http.StatusNotFound, "no"
		if strings.HasSuffix(r.URL.Path, "hold") {
			status, text = http.StatusConflict, "only a pending job can be held"
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`,
			map[int]string{404: "NotFound", 409: "Conflict"}[status], status, text)
	}
	for args, want := range map[string]string{
		"drain gpu-0 --cluster=main":            `required flag(s) "reason" not set`,
		"drain --reason=x":                      "takes nodes, hostlists or worker pods",
		"drain gpu-0 --reason=x":                "several clusters have a node gpu-0",
		"drain gpu-9 --reason=x --cluster=main": "node gpu-9 does not exist",
		"cancel 7":                              "several clusters have a job 7",
		"cancel 7 --cluster=main":               "the adapter serves no actions",
		"hold 7 --cluster=main":                 "job 7: hold: only a pending job can be held",
		"cancel 8 --cluster=main":               "you can see no job 8",
		"scancel 7":                             "did you mean cancel?",
		"undrain gpu-0":                         "did you mean resume?",
	} {
		if _, err := s.run(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", args, err, want)
		}
	}
}

func TestAnObjectThatIsGoneIsNotAMissingAction(t *testing.T) {
	s := newPromptServer(t)
	s.act = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
			`"message":"slurmjobs.view.slinky.slurm.net \"main.7\" not found","details":{"name":"main.7","kind":"slurmjobs"}}`)
	}
	if _, err := s.run(t, "cancel", "7", "--cluster=main"); err == nil || !strings.Contains(err.Error(), `"main.7" not found`) {
		t.Errorf("the error is %v", err)
	}
}
