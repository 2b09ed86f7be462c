// Package actors knows who makes a change: covey, the operator, or a member in a
// session, and under which tool call.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package actors

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/tasks/kv"
)

// The buckets of this package.
const (
	MembersBucket  = "members"  // name -> Member
	ReceiptsBucket = "receipts" // name, call id, op -> receipt number and record
	CallsBucket    = "calls"    // name, receipt number -> key in ReceiptsBucket
)

// Senders that are no members; specs cannot use these names for members.
const (
	Operator = "operator"
	Covey    = "covey"
)

// ErrStale: a change by an earlier session of the member, or about a task that
// the actor does not own any more.
var ErrStale = errors.New("stale owner")

// Actor is who makes a change. The zero Actor is covey itself.
type Actor struct {
	// Name stands in events and messages as the one who did it: a member's
	// name, "operator", or "" for covey.
	Name string
	// Session is the epoch that Attach gave the member. A change under an
	// earlier one fails with ErrStale, so nothing that outlived a restart can
	// write. 0 means that the actor is covey or the operator: not checked.
	Session uint64
	// CallID is the id of the tool call that asks for this change; empty: none.
	// The change's Receipt is stored with it, and a second change of the same
	// kind under the same Name and CallID returns the first one's result
	// instead of happening again.
	CallID string
}

// Member says whether the actor is a member rather than covey or the operator.
func (a Actor) Member() bool { return a.Session != 0 }

// check refuses names and call ids that cannot be keys.
func (a Actor) check() error {
	if a.Name != "" || a.Session != 0 {
		if err := kv.CheckName("actor", a.Name); err != nil {
			return err
		}
	}
	if a.CallID != "" {
		return kv.CheckName("call id", a.CallID)
	}
	return nil
}

// Admit refuses an actor whose session is over.
func (a Actor) Admit(r kv.Reader) error {
	if !a.Member() {
		return nil
	}
	m, found, err := Find(r, a.Name)
	if err != nil {
		return err
	}
	if !found || m.Epoch != a.Session {
		return staleError(a.Name, a.Session, m.Epoch)
	}
	return nil
}

// staleError tells which session is over, and which one counts.
func staleError(name string, session, now uint64) error {
	return fmt.Errorf("%w: session %d of %s is over, it is in session %d now", ErrStale, session, name, now)
}

// CallID is the call id of something that is to happen once for a text, however often it
// is asked for. kind tells apart what the same text may be asked for.
func CallID(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + ":" + hex.EncodeToString(sum[:16])
}
