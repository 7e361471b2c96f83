package command

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
)

// The channels of kubectl exec over a WebSocket.
const (
	stdoutChannel = 1
	statusChannel = 3
	closeChannel  = 255
	// normalClosure is the status with which a WebSocket is closed.
	normalClosure = 1000
)

// serveExec answers exec requests with an output and an exit status.
func serveExec(status string, output func(ws *websocket.Conn) string) http.Handler {
	return websocket.Server{
		Handshake: func(c *websocket.Config, _ *http.Request) error {
			c.Protocol = []string{"v5.channel.k8s.io"}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType = websocket.BinaryFrame
			_, _ = ws.Write(append([]byte{stdoutChannel}, output(ws)...))
			_, _ = ws.Write(append([]byte{statusChannel}, status...))
			_ = ws.WriteClose(normalClosure)
		},
	}
}

// printCommand returns the container and the command of an exec request.
func printCommand(ws *websocket.Conn) string {
	query := ws.Request().URL.Query()
	return query.Get("container") + ": " + strings.Join(query["command"][3:], " ") + "\n"
}

// readInput returns the standard input of an exec request.
func readInput(ws *websocket.Conn) string {
	var input []byte
	for {
		var frame []byte
		if err := websocket.Message.Receive(ws, &frame); err != nil || len(frame) == 0 || frame[0] == closeChannel {
			return string(input)
		}
		input = append(input, frame[1:]...)
	}
}

const (
	exitedWith0 = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	exitedWith3 = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NonZeroExitCode","message":"exit 3",
		"details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`
)

func TestLogsAndShellRunInTheWorkerPod(t *testing.T) {
	for _, tc := range []struct{ name, args, status, want string }{
		{"logs", "logs 7 --cluster=main --tail=3", exitedWith0, "slurmd: sh 7 3001 StdOut -n 3\n"},
		{"a command", "shell 7 --cluster=main -- nvidia-smi -q", exitedWith0, "slurmd: sh 7 3001 gpu-0 -- nvidia-smi -q\n"},
		{"a shell without a terminal", "shell 7 --cluster=main", exitedWith0, "slurmd: sh 7 3001 gpu-0 -- bash -l\n"},
		{"a command that fails", "shell 7 --cluster=main -- false", exitedWith3, "slurmd: sh 7 3001 gpu-0 -- false\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newPromptServer(t)
			s.exec = serveExec(tc.status, printCommand)
			command, after, _ := strings.Cut(tc.args, " --cluster")
			args := append(append(strings.Fields(command), "--namespace=slurm", "--server="+s.url), strings.Fields("--cluster"+after)...)
			out, err := s.runWith(t, args...)
			if out != tc.want {
				t.Errorf("it prints %q, want %q", out, tc.want)
			}
			if want := map[string]int{exitedWith0: 0, exitedWith3: 3}[tc.status]; ExitStatus(err) != want {
				t.Errorf("the exit status is %d (%v), want %d", ExitStatus(err), err, want)
			}
		})
	}
}

// TestShellPassesStandardInput: a script that is redirected to the command reaches the step.
func TestShellPassesStandardInput(t *testing.T) {
	s := newPromptServer(t)
	s.in = "hostname\n"
	s.exec = serveExec(exitedWith0, readInput)
	if out, err := s.run(t, "shell", "7", "--cluster=main"); err != nil || out != s.in {
		t.Errorf("shell prints %q (%v), want its standard input %q", out, err, s.in)
	}
}

func TestLogsAndShellSayWhatIsWrong(t *testing.T) {
	s := newPromptServer(t)
	for args, want := range map[string]string{
		"logs 8": "you can see no job 8", "logs 7": "several clusters have a job 7", "shell": "takes the job ID",
		"shell 7 ls": "takes the job ID", "shell 7 --cluster=main --node=gpu-9": "does not run on node gpu-9",
	} {
		if _, err := s.run(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", args, err, want)
		}
	}
}
