package bus

import (
	"strconv"
	"strings"
)

// Mail carries a committed message to its receiver. A message over the limit of a payload
// is left out: the receiver then gets none, and reads the store. Mail fails with ErrSubject
// for an invalid name of a member, and with ErrClosed.
func (b *Bus) Mail(member string, message []byte) error {
	s, err := b.mailSubject(member)
	if err != nil {
		return err
	}
	return b.publishCommitted(s, message)
}

// OnMail calls f with each message that Mail carries, and its receiver; the message is
// empty if it was left out. One subscription serves all members. lost is called when
// messages were dropped, because f was too slow: which ones, only the store knows. From
// outside only the operator may listen.
func (b *Bus) OnMail(f func(member string, message []byte), lost func()) (*Subscription, error) {
	return b.subscribe(b.subject(mailRoot, "*"), func(m delivery) {
		f(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], m.Data)
	}, lost)
}

// Task carries a committed change of a task. A change over the limit of a payload is left
// out, as by Mail.
func (b *Bus) Task(change []byte) error { return b.publishCommitted(b.subject(taskChanges), change) }

// OnTask calls f with each change that Task carries; it is empty if it was left out. lost
// and the right to listen are as for OnMail.
func (b *Bus) OnTask(f func(change []byte), lost func()) (*Subscription, error) {
	return b.subscribe(b.subject(taskChanges), func(m delivery) { f(m.Data) }, lost)
}

// publishCommitted publishes what the store holds, so that its content may be left out.
func (b *Bus) publishCommitted(s Subject, data []byte) error {
	if len(data) > b.opts.MaxPayload {
		data = nil
	}
	return b.publish(s, data)
}

// JournalGrew signals that the journal now ends at line seq.
func (b *Bus) JournalGrew(seq uint64) error {
	return b.publish(b.subject(journalGrown), strconv.AppendUint(nil, seq, 10))
}

// OnJournal calls f with the number of the last line whenever the journal grew. A caller
// may miss calls, because the last one contains everything.
func (b *Bus) OnJournal(f func(seq uint64)) (*Subscription, error) {
	return b.subscribe(b.subject(journalGrown), func(m delivery) {
		if seq, err := strconv.ParseUint(string(m.Data), 10, 64); err == nil {
			f(seq)
		}
	}, nil)
}
