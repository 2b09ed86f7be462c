package actors

import (
	"cmp"
	"fmt"

	"github.com/coveyteam/covey/tasks/store"
)

// StateHalted is the Member.State of a member that a hook has stopped for good.
const StateHalted = "halted"

// Member is what the store keeps about a member between runs.
type Member struct {
	Name    string `json:"name"`
	Session string `json:"session"` // the UUID of its conversation; survives restarts
	// First is the UUID of the first of its conversations, if Renew has replaced that.
	First    string `json:"first_session,omitempty"`
	Finished bool   `json:"finished,omitempty"` // a task of it was completed in this conversation
	Epoch    uint64 `json:"epoch"`              // rises with every Attach; Actor.Session
	Turn     int    `json:"turn"`               // turns begun so far
	State    string `json:"state"`              // StateHalted, or empty: no problem
	Reason   string `json:"reason"`             // for State, for people
}

// Life returns the UUID of the member's first conversation. It stays the same when the
// conversation is replaced, so it identifies what was granted to the member for good.
func (m Member) Life() string { return cmp.Or(m.First, m.Session) }

// All returns the members in the order of their names.
func All(r store.Reader) ([]Member, error) {
	return store.Records[Member](r, MembersBucket, "member %s", nil)
}

// Find returns one member; found is false if it is unknown.
func Find(r store.Reader, name string) (m Member, found bool, err error) {
	data := r.Bucket(MembersBucket).Get([]byte(name))
	if data == nil {
		return Member{}, false, nil
	}
	stored, err := store.Decode[Member]("member "+name, data)
	if err != nil {
		return Member{}, false, err
	}
	return *stored, true, nil
}

// Begin begins a member's session under a new Epoch. The first call creates the
// member and calls newSession for the UUID of its conversation.
func Begin(t *store.Tx, name string, newSession func() string) (Member, error) {
	m, found, err := Find(t.Reader, name)
	if err != nil {
		return Member{}, err
	}
	if !found {
		m = Member{Name: name, Session: store.Clean(newSession())}
	}
	m.Epoch++
	putMember(t, m)
	return m, nil
}

// Change stores the member's Turn, State and Reason. Its errors are those of
// tasks.Members.Set.
func Change(t *store.Tx, m Member) error {
	now, err := current(t, m)
	if err != nil {
		return err
	}
	now.Turn, now.State, now.Reason = m.Turn, store.Clean(m.State), m.Reason
	putMember(t, now)
	return nil
}

// Finish notes that a task of a member was completed.
func Finish(t *store.Tx, name string) {
	switch m, found, err := Find(t.Reader, name); {
	case err != nil:
		t.Fail(err)
	case found && !m.Finished:
		m.Finished = true
		putMember(t, m)
	}
}

// Renew replaces a member's conversation by another one. Its errors are those of
// tasks.Members.Set.
func Renew(t *store.Tx, m Member, session string) error {
	now, err := current(t, m)
	if err != nil {
		return fmt.Errorf("renew a conversation: %w", err)
	}
	now.First, now.Session, now.Finished = now.Life(), store.Clean(session), false
	putMember(t, now)
	return nil
}

// current returns a member as it is stored; it must have the epoch of m, unless that is 0.
func current(t *store.Tx, m Member) (Member, error) {
	now, found, err := Find(t.Reader, m.Name)
	switch {
	case err != nil:
		return now, err
	case !found:
		return now, fmt.Errorf("member %q %w", store.Clip(m.Name), store.ErrNotFound)
	case m.Epoch != 0 && m.Epoch != now.Epoch:
		return now, staleError(m.Name, m.Epoch, now.Epoch)
	}
	return now, nil
}

func putMember(t *store.Tx, m Member) { t.Put(MembersBucket, []byte(m.Name), t.Encode(m)) }

// CheckMembers checks the members. The owner of a task need not be among them: a spec
// assigns tasks to members that have not been attached yet.
func CheckMembers(c *store.Checker) {
	store.CheckAll(c, MembersBucket, "member %s", func(k []byte, m *Member) {
		c.SameKey("member "+m.Name, k, []byte(m.Name))
		if m.Epoch == 0 {
			c.Fault("member %s was never attached", m.Name)
		}
	})
}
