package bus

import "strconv"

// Wake signals that a member has something to do, which the store says. It fails with
// ErrSubject for an invalid name of a member, and with ErrClosed.
func (b *Bus) Wake(member string) error {
	s, err := wakeSubject(member)
	if err != nil {
		return err
	}
	return b.publish(s, nil)
}

// OnWake calls f with the name of each member that is woken. One subscription serves all
// members, so f should only mark the member and return.
func (b *Bus) OnWake(f func(member string)) (*Subscription, error) {
	return b.subscribe(wakeAll(), func(m delivery) { f(wokenMember(m.Subject)) })
}

// JournalGrew signals that the journal now ends at line seq.
func (b *Bus) JournalGrew(seq uint64) error {
	return b.publish(journalGrown, strconv.AppendUint(nil, seq, 10))
}

// OnJournal calls f with the number of the last line whenever the journal grew. A caller
// may miss calls, because the last one contains everything.
func (b *Bus) OnJournal(f func(seq uint64)) (*Subscription, error) {
	return b.subscribe(journalGrown, func(m delivery) {
		if seq, err := strconv.ParseUint(string(m.Data), 10, 64); err == nil {
			f(seq)
		}
	})
}
