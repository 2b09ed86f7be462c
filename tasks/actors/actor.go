package actors

import (
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/store"
)

// The buckets of this package.
const (
	MembersBucket  = "members"  // name -> Member
	ReceiptsBucket = "receipts" // name, call id, op -> receipt number and record
	CallsBucket    = "calls"    // name, receipt number -> key in ReceiptsBucket
)

// Senders that are not members; specs cannot use these names for members.
const (
	Operator = "operator"
	Covey    = "covey"
)

// ErrStale: a change by an earlier session of the member, or about a task that the
// actor no longer owns.
var ErrStale = errors.New("stale owner")

// Actor identifies who makes a change. The zero Actor is covey itself.
type Actor struct {
	// Name is the author in events and messages: a member's name, "operator", or ""
	// for covey.
	Name string
	// Session is the epoch that Attach assigned to the member. A change under an
	// earlier one fails with ErrStale, so that leftovers of an earlier run cannot
	// write. 0: the actor is covey or the operator, and is not checked.
	Session uint64
	// CallID is the id of the tool call that requests this change; empty: none. The
	// change's Receipt is stored with it, and a second change of the same kind under
	// the same Name and CallID returns the first one's result instead of happening
	// again.
	CallID string
}

// Member reports whether the actor is a member rather than covey or the operator.
func (a Actor) Member() bool { return a.Session != 0 }

// check rejects names and call ids that cannot be keys.
func (a Actor) check() error {
	if a.Name != "" || a.Session != 0 {
		if err := store.CheckName("actor", a.Name); err != nil {
			return err
		}
	}
	if a.CallID != "" {
		return store.CheckName("call id", a.CallID)
	}
	return nil
}

// Admit fails with ErrStale for an actor whose session is over.
func (a Actor) Admit(r store.Reader) error {
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

// staleError names the session that is over and the present one.
func staleError(name string, session, now uint64) error {
	return fmt.Errorf("%w: session %d of %s is over, it is in session %d now", ErrStale, session, name, now)
}

// CallID returns a call id for something that must happen once per text, however
// often it is requested. kind distinguishes the purposes of the same text.
func CallID(kind, text string) string {
	return kind + ":" + texts.Digest(text)[:32]
}
