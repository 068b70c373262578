package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program is a server that is a process, over its standard streams.
type program struct {
	*lines

	cmd   *exec.Cmd
	stdin io.Closer
	once  sync.Once
	ended chan struct{}
}

// Variables of the gateway that the server does not see: it must not act under the gateway's key.
var ownVariables = []string{"TENET_KEY", "TENET_API_KEY", "TENET_DATABASE_URL", "TENET_GATEWAY_TOKEN"}

// endTime is how long a server has to end after its input has.
const endTime = 5 * time.Second

// start starts the server. Its standard error goes to stderr.
func start(command, environ []string, stderr io.Writer) (*program, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // Close ends it in the order that the protocol wants
	cmd.Stderr = stderr
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(ownVariables, name) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the server %q cannot be started: %w", command[0], err)
	}
	p := &program{lines: newLines(out, in, maxAnswer), cmd: cmd, stdin: in, ended: make(chan struct{})}
	return p, nil
}

// receive implements stream. A message beyond the limit ends the session, for nobody knows which request it answers.
func (p *program) receive(ctx context.Context) ([]byte, error) {
	raw, err := p.lines.receive(ctx)
	if long, ok := errors.AsType[tooLong](err); ok {
		return nil, fmt.Errorf("the server's answer is too long: %s", long.Error())
	}
	return raw, err
}

// Close ends the server: by the end of its input, then by signals.
func (p *program) Close() error {
	p.once.Do(func() {
		_ = p.stdin.Close() // it may have ended
		go func() {
			_ = p.cmd.Wait() // how it ends does not matter here
			close(p.ended)
		}()
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-p.ended:
				return
			case <-time.After(endTime):
				_ = p.cmd.Process.Signal(signal)
			}
		}
		<-p.ended
	})
	return nil
}
