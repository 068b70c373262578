package porttest

import (
	"fmt"
	"os"
	"syscall"
)

// Reserve is [Address] without a test. The caller releases the port.
//
// The port belongs to a socket that never listens. Others may bind it, since both sides allow that (Go's listeners do), but the
// system chooses it for nobody. A port that is free because its listener was closed can be chosen for another test at once.
func Reserve() (address string, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, os.NewSyscallError("socket", err)
	}
	release = func() { _ = syscall.Close(fd) } // nothing was written
	defer func() {
		if err != nil {
			release()
		}
	}()
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", nil, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", nil, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return "", nil, os.NewSyscallError("getsockname", err)
	}
	v4, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return "", nil, fmt.Errorf("the socket is bound to %T", bound)
	}
	return fmt.Sprintf("127.0.0.1:%d", v4.Port), release, nil
}
