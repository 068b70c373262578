//go:build !linux

package porttest

import (
	"context"
	"net"
)

// Reserve is [Address] without a test. The caller releases the port. Here, the system may choose the port for somebody else.
func Reserve() (address string, release func(), err error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), func() {}, l.Close()
}
