package distance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// The addresses of a link, of the range for benchmarks of networks (RFC 2544).
const (
	nearAddress, farAddress = "198.19.255.1", "198.19.255.2"
	nearDevice, farDevice   = "slurmtide-near", "slurmtide-far"
)

// maxPackets is how many packets may be under way in one direction. maxPacket is the size of the largest one.
const (
	maxPackets = 1 << 14
	maxPacket  = 1 << 16
)

// closePatience is how long a new link waits for the previous one to close, and closePollInterval how often it looks.
const (
	closePatience     = 10 * time.Second
	closePollInterval = 50 * time.Millisecond
)

// Connect creates a network namespace and connects it to the current one by two TUN devices, until the context ends. All packets between
// them arrive after the delay, including packets that open connections. In the namespace, a proxy listens in front of a server on a unix
// socket. Connect returns the proxy's address. It replaces netem(8), which needs a kernel module. Only one link exists at a time.
func Connect(ctx context.Context, socket string, delay time.Duration) (address string, err error) {
	near, err := openDevice(ctx, nearDevice, nearAddress, farAddress)
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = near.Close() })
	far, listener, err := openNamespace(ctx)
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _, _ = far.Close(), listener.Close() })
	go forwardPackets(far, near, delay)
	go forwardPackets(near, far, delay)
	go acceptConnections(ctx, listener, "unix", socket, 0)
	return listener.Addr().String(), nil
}

// openNamespace opens the far device and a listener in a new network namespace.
func openNamespace(ctx context.Context) (device *os.File, listener net.Listener, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine, since it stays in the namespace
		if err = syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("making a network namespace: %w", err)
			return
		}
		if device, err = openDevice(ctx, farDevice, farAddress, nearAddress); err != nil {
			return
		}
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", farAddress+":0"); err != nil {
			err = errors.Join(err, device.Close())
		}
	}()
	<-done
	return device, listener, err
}

// openDevice makes a TUN device in the network namespace of the thread.
func openDevice(ctx context.Context, name, own, peer string) (*os.File, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	var request struct { // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:syscall.IFNAMSIZ-1], name)
	request.flags = syscall.IFF_TUN | syscall.IFF_NO_PI
	for begin := time.Now(); ; time.Sleep(closePollInterval) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request)))
		if errno == 0 {
			break
		}
		if errno != syscall.EBUSY || time.Since(begin) > closePatience { // busy: the previous link is being closed
			return nil, errors.Join(fmt.Errorf("making the device %s: %w", name, errno), syscall.Close(fd))
		}
	}
	for _, args := range []string{"addr add " + own + " peer " + peer + " dev " + name, "link set " + name + " up txqueuelen 10000"} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return nil, errors.Join(fmt.Errorf("ip %s: %w: %s", args, err, out), syscall.Close(fd))
		}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// forwardPackets copies packets until an error of either device.
func forwardPackets(to, from *os.File, delay time.Duration) {
	packets, done := make(chan chunk, maxPackets), make(chan struct{})
	go func() {
		defer close(packets)
		buf := make([]byte, maxPacket)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			select {
			case packets <- chunk{append([]byte(nil), buf[:n]...), time.Now().Add(delay)}:
			case <-done:
				return
			}
		}
	}()
	defer close(done)
	for p := range packets {
		if wait := time.Until(p.due); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := to.Write(p.bytes); err != nil {
			return
		}
	}
}
