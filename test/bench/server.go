package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// The size of the cluster that is polled.
const (
	totalNodes = 10_000
	totalJobs  = 100_000
)

// serveSlurmrestd serves a simulated slurmrestd with the given number of nodes and jobs, in the recorded format of the
// newest version. With "living" it keeps running its jobs.
func serveSlurmrestd(ctx context.Context, args []string) error {
	jobCount, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	cluster := slurmtest.NewSized(time.Now, totalNodes, jobCount)
	if args[1] == "living" {
		go cluster.Run(ctx)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	server := &http.Server{Handler: countRequests(cluster.Handler()), ReadHeaderTimeout: time.Minute}
	go func() { <-ctx.Done(); _ = server.Close() }()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// requestsPath is the path that returns the number of requests.
const requestsPath = "/requests"

func countRequests(h http.Handler) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == requestsPath {
			fmt.Fprint(w, n.Load())
			return
		}
		n.Add(1)
		h.ServeHTTP(w, r)
	})
}

// requests is how many requests the server has seen.
func (p *process) requests(ctx context.Context) (float64, error) {
	_, body, err := httpGet(ctx, p.url+requestsPath)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(body), 64)
}

// process is a program that the benchmark has started.
type process struct {
	cmd *exec.Cmd
	url string
}

// startServer starts serve in its own process.
func startServer(ctx context.Context, jobCount int, mode string) (*process, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "serve", strconv.Itoa(jobCount), mode)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &process{cmd, strings.TrimSpace(line)}, nil
}

// lowerPriority lets every other program run before this one. On Linux each thread has a priority, which the threads
// that it starts inherit.
func (p *process) lowerPriority() error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.cmd.Process.Pid))
	for _, dir := range threads {
		id, idErr := strconv.Atoi(filepath.Base(dir))
		err = errors.Join(err, idErr, syscall.Setpriority(syscall.PRIO_PROCESS, id, 19))
	}
	return err
}

// stop ends the program and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}
