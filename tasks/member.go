package tasks

import (
	"context"
	"fmt"
)

// The values of Member.State. Empty: all is well.
const (
	StateHalted    = "halted"    // a hook stopped the member for good
	StateAttention = "attention" // only a person or the lead can help it
)

// Member is what the store keeps of a member between runs.
type Member struct {
	Name    string `json:"name"`
	Session string `json:"session"` // its conversation's UUID; stays over restarts
	Epoch   uint64 `json:"epoch"`   // rises with every Attach; Actor.Session
	Turn    int    `json:"turn"`    // turns begun so far
	State   string `json:"state"`   // "", StateHalted or StateAttention
	Reason  string `json:"reason"`  // for State, for people
}

// Attach begins a member's session: under a new Epoch, which ends the rights
// of all earlier ones, with a new epoch for each task that it has in progress.
// The first time it makes the member, asking newSession (in the committer, so
// it must be quick) for the UUID of its conversation.
func (s *Store) Attach(ctx context.Context, name string, newSession func() string) (Member, error) {
	if err := checkName("member", name); err != nil {
		return Member{}, err
	}
	c := &job{op: "attach"}
	var result Member
	c.run = func(t *txn) error {
		m, err := t.attach(name, newSession)
		if err == nil {
			result = m
		}
		return err
	}
	if err := s.submit(ctx, c); err != nil {
		return Member{}, err
	}
	s.held.Store(name, true)
	return result, nil
}

// attach raises the epochs of the member and of its work together, so that
// neither can be used to write past the other.
func (t *txn) attach(name string, newSession func() string) (Member, error) {
	m, found, err := t.member(name)
	if err != nil {
		return Member{}, err
	}
	if !found {
		m = Member{Name: name, Session: clean(newSession())}
	}
	m.Epoch++
	t.storeMember(m)
	for _, n := range suffixes(t.bucket(bucketProgress), nameKey(name), 0) {
		was, err := t.load(formatID(n))
		if err != nil {
			return Member{}, fmt.Errorf("in progress by %s: %w", name, err)
		}
		rec := t.next(was)
		rec.Epoch++
		t.save(was, rec)
		t.tell(Actor{}, changeRecord{Op: Updated, Task: rec, Fields: []string{"epoch"}})
	}
	return m, t.tellLosses(name)
}

// SetMember stores the member's Turn, State and Reason; its Session stays. It
// fails with ErrNotFound before the first Attach and with ErrStale when Epoch
// is set and not the member's.
func (s *Store) SetMember(ctx context.Context, m Member) error {
	reason, err := cleanShort("reason", m.Reason)
	if err != nil {
		return err
	}
	c := &job{op: "set member"}
	c.run = func(t *txn) error {
		now, found, err := t.member(m.Name)
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("member %q %w", clip(m.Name), ErrNotFound)
		case m.Epoch != 0 && m.Epoch != now.Epoch:
			return staleError(m.Name, m.Epoch, now.Epoch)
		}
		now.Turn, now.State, now.Reason = m.Turn, clean(m.State), reason
		t.storeMember(now)
		return nil
	}
	return s.submit(ctx, c)
}

// Members gives all members that have ever been attached, by name.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	var list []Member
	err := s.view(ctx, func(r reader) error {
		var err error
		list, err = r.members()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return list, nil
}

// members are in the order of their names, which is that of the bucket.
func (r reader) members() ([]Member, error) {
	list := []Member{}
	var failed error
	each(r.bucket(bucketMembers), nil, func(k, v []byte) bool {
		m, err := decode[Member]("member "+string(k), v)
		if err != nil {
			failed = err
			return false
		}
		list = append(list, *m)
		return true
	})
	return list, failed
}

// member reads one member; found is false for a stranger.
func (r reader) member(name string) (m Member, found bool, err error) {
	data := r.bucket(bucketMembers).Get([]byte(name))
	if data == nil {
		return Member{}, false, nil
	}
	rec, err := decode[Member]("member "+name, data)
	if err != nil {
		return Member{}, false, err
	}
	return *rec, true, nil
}

func (t *txn) storeMember(m Member) { t.put(bucketMembers, []byte(m.Name), t.encode(m)) }

// admit refuses an actor whose session is over.
func (r reader) admit(a Actor) error {
	if !a.member() {
		return nil
	}
	m, found, err := r.member(a.Name)
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
