package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/client-go/tools/remotecommand"
)

// rawTerminal passes each key on to the command in the pod, until restore is called.
func rawTerminal() (sizes remotecommand.TerminalSizeQueue, restore func(), err error) {
	state, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	q := &sizeQueue{done: make(chan struct{})}
	return q, func() {
		close(q.done)
		_ = term.Restore(int(os.Stdin.Fd()), state)
	}, nil
}

// sizeQueue reports the size of the terminal, first at once and then after each change. It looks once a second, since not
// every system has a signal for it.
type sizeQueue struct {
	done chan struct{}
	last remotecommand.TerminalSize
}

// Next implements remotecommand.TerminalSizeQueue.
func (q *sizeQueue) Next() *remotecommand.TerminalSize {
	for {
		columns, lines := terminalSize()
		size := remotecommand.TerminalSize{Width: uint16(min(columns, 1<<16-1)), Height: uint16(min(lines, 1<<16-1))} //nolint:gosec // bounded
		if size != q.last {
			q.last = size
			return &size
		}
		select {
		case <-q.done:
			return nil
		case <-time.After(time.Second):
		}
	}
}
