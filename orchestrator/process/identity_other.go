//go:build !linux && !darwin

package process

import "errors"

// orphansEscape has no meaning where callers cannot be identified.
const orphansEscape = true

// peer is the process at the other end of a connection.
type peer struct{ pid, uid int }

// peerAt fails: this system does not identify the other end of a connection, and an
// unknown caller must not control a team.
func peerAt(int) (peer, error) {
	return peer{}, errors.New("this system does not say who is at the other end of a socket")
}

func (p peer) alive() bool { return false }
func (p peer) close()      {}

// Read cannot read the process tree here.
func Read(int) (Process, error) { return Process{}, errors.ErrUnsupported }

// sessionsBelow cannot read the process tree here.
func sessionsBelow(int) (map[int]bool, error) { return nil, errors.ErrUnsupported }
