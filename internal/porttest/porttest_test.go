package porttest

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"
)

// exclusively makes a socket share its port with nobody.
func exclusively(_, _ string, c syscall.RawConn) (err error) {
	return errors.Join(c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
	}), err)
}

// The port can be bound by name, repeatedly, and is chosen for nobody.
func TestReserve(t *testing.T) {
	address, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	config := &net.ListenConfig{}
	for range 2 {
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
			_ = c.Close()
			t.Fatal("somebody listens before the program does")
		}
		l, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Close(), l.Close()
	}
	if runtime.GOOS != "linux" {
		return
	}
	// The system gives the port only to a program that allows others beside it, as it does when it chooses one.
	exclusive := &net.ListenConfig{Control: exclusively}
	if l, err := exclusive.Listen(t.Context(), "tcp", address); err == nil {
		_ = l.Close()
		t.Error("the port is free")
	}
	release()
	l, err := exclusive.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_ = l.Close()
}
