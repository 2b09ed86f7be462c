package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
)

// Dial connects to the team that listens at path. It fails with ErrRefused if the team
// rejects this process or its key (see Listen), with ErrHungUp if it ends just then, with ErrForeign if the
// listener does not speak the bus's protocol, with ErrSocketDir if the socket's folder is
// not private to this user, and with the system's error if nothing listens there. The checks look
// at who listens before anything is sent, and their errors are returned. The Bus is done when the
// team is gone; it never reconnects.
func Dial(ctx context.Context, path string, checks ...func(net.Conn) error) (*Bus, error) {
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	// If ctx ends during the handshake, close the connection, which ends every read.
	stop := context.AfterFunc(ctx, func() { c.Close() })
	b, err := handshake(c, path, checks...)
	if !stop() && err == nil {
		err = errors.Join(ctx.Err(), b.Close())
	}
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return b, nil
}

// maxHello bounds the first line of a listener.
const maxHello = 4096

// handshake reads the credentials and then starts NATS.
//
// Each way to fail has an error of its own: a team that says nothing may be hung, one that
// hangs up has ended, and one that begins otherwise is another version, or no covey at all.
// The caller closes c after an error.
func handshake(c net.Conn, path string, checks ...func(net.Conn) error) (*Bus, error) {
	for _, check := range checks {
		if err := check(c); err != nil {
			return nil, err
		}
	}
	if err := c.SetReadDeadline(time.Now().Add(2 * helloWait)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, maxHello)
	h, err := readHello(r)
	if err == nil && h.Challenge != "" {
		if err = proveKey(c, path, h.Challenge); err == nil {
			h, err = readHello(r)
		}
	}
	if err != nil {
		return nil, err
	}
	// The deadline was for the first line alone; the connection lives as long as the team
	// and the caller.
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	b := newBus(Options{MaxPayload: h.MaxPayload, Team: h.Team}.withDefaults())
	b.scope = h.Scope
	o := b.clientOptions(h.Token, h.Conn)
	o.CustomDialer = ready{&buffered{Conn: c, r: r}}
	if b.nc, err = o.Connect(); errors.Is(err, nats.ErrMaxConnectionsExceeded) {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	} else if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return b, nil
}

// readHello reads one line of the listener.
func readHello(r *bufio.Reader) (h hello, err error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return h, fmt.Errorf("control socket: the team says nothing: %w", err)
	}
	if err != nil {
		return h, fmt.Errorf("control socket: %w: %w", ErrHungUp, err)
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return h, fmt.Errorf("control socket: %w: %w: %w", ErrForeign, ErrMalformed, err)
	}
	if h.Error != "" {
		return h, fmt.Errorf("%w: %s", ErrRefused, h.Error)
	}
	if h.Format != helloFormat {
		return h, fmt.Errorf("control socket: %w: it begins with format %d, and ours is %d", ErrForeign, h.Format, helloFormat)
	}
	return h, nil
}

// buffered is a connection whose first bytes are in r.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) } // Read is a net.Conn's.

// ready is a dialer with an open connection.
type ready struct{ c net.Conn }

func (r ready) Dial(string, string) (net.Conn, error) { return r.c, nil } // Dial is a nats.CustomDialer's.
