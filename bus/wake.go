package bus

import "strconv"

// Wake tells that member has something to do. It carries nothing else: what
// there is to do stands in the store. It fails with ErrSubject for a name that
// no member can have and with ErrClosed.
func (b *Bus) Wake(member string) error {
	s, err := wakeSubject(member)
	if err != nil {
		return err
	}
	return b.publish(s, nil)
}

// OnWake calls f with the name of each member that is woken. One subscription
// serves all members: f should only mark the member and return.
func (b *Bus) OnWake(f func(member string)) (*Subscription, error) {
	return b.subscribe(wakeAll(), func(m delivery) { f(wokenMember(m.Subject)) })
}

// JournalGrew tells that the journal now reaches up to line seq.
func (b *Bus) JournalGrew(seq uint64) error {
	return b.publish(journalGrown, strconv.AppendUint(nil, seq, 10))
}

// OnJournal calls f whenever the journal grew, with the number of its last
// line. A caller that missed calls has missed nothing: the last one tells all.
func (b *Bus) OnJournal(f func(seq uint64)) (*Subscription, error) {
	return b.subscribe(journalGrown, func(m delivery) {
		if seq, err := strconv.ParseUint(string(m.Data), 10, 64); err == nil {
			f(seq)
		}
	})
}
