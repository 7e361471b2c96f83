package daemon

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// runFakeDaemon prints that it has started and executes itself again on SIGHUP, depending on its name: "deaf" ignores
// the signal, and "starting" has no handler for it. Go's runtime has threads beside the main one, as slurmd has.
func runFakeDaemon() {
	if strings.HasSuffix(os.Args[0], "starting") {
		arguments := []string{os.Args[0], "-c", "echo started; while sleep 1; do :; done"}
		panic(syscall.Exec("/bin/sh", arguments, os.Environ())) //nolint:gosec // Go itself has a handler
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	fmt.Println("started") //nolint:forbidigo // the test reads it
	for range hup {
		if strings.HasSuffix(os.Args[0], "deaf") {
			continue
		}
		if err := syscall.Exec("/proc/self/exe", os.Args, os.Environ()); err != nil { //nolint:gosec // it is this program
			panic(err)
		}
	}
}
