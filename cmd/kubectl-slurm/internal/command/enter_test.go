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

// execHandler answers exec requests: the output is the container and the command, and the exit status is the given one.
func execHandler(status string) http.Handler {
	server := websocket.Server{
		Handshake: func(c *websocket.Config, _ *http.Request) error {
			c.Protocol = []string{"v5.channel.k8s.io"}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType = websocket.BinaryFrame
			query := ws.Request().URL.Query()
			text := query.Get("container") + ": " + strings.Join(query["command"][3:], " ") + "\n"
			_, _ = ws.Write(append([]byte{stdoutChannel}, text...))
			_, _ = ws.Write(append([]byte{statusChannel}, status...))
			_ = ws.WriteClose(normalClosure)
		},
	}
	return server
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
			s.exec = execHandler(tc.status)
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
	server := websocket.Server{
		Handshake: func(c *websocket.Config, _ *http.Request) error {
			c.Protocol = []string{"v5.channel.k8s.io"}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType = websocket.BinaryFrame
			var got []byte
			for {
				var frame []byte
				if err := websocket.Message.Receive(ws, &frame); err != nil || frame[0] == closeChannel {
					break
				}
				got = append(got, frame[1:]...)
			}
			_, _ = ws.Write(append([]byte{stdoutChannel}, got...))
			_, _ = ws.Write(append([]byte{statusChannel}, exitedWith0...))
			_ = ws.WriteClose(normalClosure)
		},
	}
	s.exec = server
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
