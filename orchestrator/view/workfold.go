package view

import (
	"cmp"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// workFold is the part of a fold that handles tasks, mail, requests and merges.
type workFold struct{ *State }

// apply handles the lines about tasks, mail, requests and merges. It returns false for
// others.
func (s workFold) apply(l events.Event) bool {
	switch e := l.Data.(type) {
	case events.TaskChanged:
		s.changed(l, e.Change)
	case events.TaskUnchanged:
		if t := s.Task(e.Task); t != nil {
			t.addLine(l.Seq)
			t.Unchanged = true
		}
	case events.MessageSent:
		s.sent(l, e.Message)
	case events.MessageDelivered:
		s.delivered(l, e.ID)
	case events.RequestChanged:
		s.request(l, e.Request)
	case events.MergeChanged:
		s.merge(l, e.Merge)
	case events.WorkHinted:
		s.hinted(l, e)
	case events.TargetMoved:
		s.Moves = newest(append(s.Moves, Note{Seq: l.Seq, Time: l.Time, Member: l.Member, Text: cut(e.Text)}), maxMoves)
	default:
		return false
	}
	return true
}

// hinted notes what is to be looked at in finished work.
func (s workFold) hinted(l events.Event, e events.WorkHinted) {
	m := s.found().merges[e.Merge]
	if m == nil {
		return
	}
	m.Hints, m.Brings, m.Size = e.Hints, e.Brings, e.Size
	for _, id := range m.Tasks {
		if t := s.index.tasks[id]; t != nil {
			t.addLine(l.Seq)
		}
	}
}

// sent adds a message to the mail, once.
func (s workFold) sent(l events.Event, m mail.Message) {
	x := s.found()
	if m.ID == "" || x.unread[m.ID] != nil {
		return
	}
	letter := &Letter{
		Line: l.Seq, ID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Summary: cut(cmp.Or(m.Summary, m.Text)),
		Sent: m.Sent, WaitFor: m.WaitFor,
	}
	if letter.Sent.IsZero() {
		letter.Sent = l.Time
	}
	x.unread[m.ID] = letter
	if to := x.members[m.To]; to != nil {
		to.Unread++
		if from := x.members[m.From]; from != nil && to.Lead {
			from.Unreported = nil // the lead judges what the message says
		}
	}
	var dropped int
	read := func(m *Letter) bool { return !m.Delivered.IsZero() }
	s.Mail, dropped = bounded(append(s.Mail, letter), maxMail, read)
	s.Dropped.Mail += dropped
}

// delivered notes that a message was read.
func (s workFold) delivered(l events.Event, id string) {
	letter := s.found().unread[id]
	if letter == nil {
		return
	}
	letter.Delivered = l.Time
	delete(s.index.unread, id)
	if to := s.index.members[letter.To]; to != nil {
		to.Unread--
	}
}

// request adds a request, or closes it.
func (s workFold) request(l events.Event, r requests.Request) {
	if r.ID == "" {
		return
	}
	awaits := ""
	if r.Open() {
		awaits = cut(inbox.Awaits(r))
	}
	about := inbox.PayloadOf(r) // it may be in a file by now
	if shown := r.Kind == requests.AskPlan || r.Kind == requests.AskForm; !shown || !r.Open() || len(r.Payload) > maxPayload {
		r.Payload = nil
	}
	r.Text, r.Feedback = cut(r.Text), cut(r.Feedback)
	known := s.found().requests[r.ID]
	if known == nil {
		known = &Request{Request: requests.Request{ID: r.ID}, Asked: l.Seq}
		s.index.requests[r.ID] = known
		var dropped int
		closed := func(r *Request) bool { return r.Answered > 0 }
		s.Requests, dropped = bounded(append(s.Requests, known), maxRequests, closed)
		if s.Dropped.Requests += dropped; dropped > 0 {
			clear(s.index.requests)
			for _, r := range s.Requests {
				s.index.requests[r.ID] = r
			}
		}
	}
	if awaits != known.Awaits {
		s.index.awaited = slices.DeleteFunc(s.index.awaited, func(o *Request) bool { return o == known })
		if awaits != "" {
			s.index.awaited = append(s.index.awaited, known)
		}
	}
	known.Task, known.Commit = cmp.Or(about.TaskID, known.Task), cmp.Or(about.Commit, known.Commit)
	if known.Open() && r.State == requests.Denied && r.Kind == requests.AskApproval {
		s.sentBack(s.Task(known.Task), Return{Seq: l.Seq, Time: l.Time, Member: r.Member, By: r.By, Reason: r.Feedback})
	}
	known.Request, known.Awaits = r, awaits
	if r.Open() {
		known.Answered = 0
	} else {
		known.Answered = l.Seq
	}
	if m := s.index.members[r.Member]; m != nil {
		m.Awaits = s.awaits(r.Member)
		m.settle(l.Time)
	}
}

// awaits returns whose answer a member waits for, of the oldest request about it; empty: it waits for none.
func (s *State) awaits(member string) string {
	for _, r := range s.index.awaited {
		if r.Member == member {
			return r.Awaits
		}
	}
	return ""
}

// merge adds a merge, or what became of it. Returned work sends its tasks back.
func (s workFold) merge(l events.Event, e tasks.Merge) {
	if e.ID == "" {
		return
	}
	e.Title, e.Reason = cut(e.Title), cut(e.Reason)
	m := s.found().merges[e.ID]
	if m == nil {
		m = &Merge{Merge: tasks.Merge{ID: e.ID}}
		s.index.merges[e.ID] = m
		var dropped int
		s.Merges, dropped = bounded(append(s.Merges, m), maxMerges, func(m *Merge) bool { return m.State.Over() })
		if s.Dropped.Merges += dropped; dropped > 0 {
			clear(s.index.merges)
			for _, m := range s.Merges {
				s.index.merges[m.ID] = m
			}
		}
	}
	isNew := m.State != e.State
	if isNew || m.Reason != e.Reason {
		step := Step{Seq: l.Seq, Time: l.Time, State: e.State, Reason: e.Reason, By: e.By}
		m.Steps = newest(append(m.Steps, step), maxSteps)
	}
	if m.Commit != e.Commit {
		m.Hints, m.Brings, m.Size = nil, nil, hints.Size{} // of other work
	}
	m.Merge = e
	for _, id := range e.Tasks {
		t := s.index.tasks[id]
		if t == nil {
			continue
		}
		t.addLine(l.Seq)
		if !slices.Contains(t.Merges, e.ID) {
			t.Merges = append(t.Merges, e.ID)
		}
		if t.Merges[len(t.Merges)-1] == e.ID {
			t.Work = e.State
		}
		if isNew && e.State == tasks.MergeReturned {
			back := Return{Seq: l.Seq, Time: l.Time, Kind: "returned", Member: e.Member, By: s.whoReturned(e), Reason: e.Reason}
			if e.Refused {
				back.Kind = "sent back"
			}
			t.SentBack++
			t.returned(back)
		}
	}
}

// whoReturned returns who sent work back; empty: the merge queue by itself. What an approver has refused,
// the queue sends back.
func (s workFold) whoReturned(m tasks.Merge) string {
	if !m.Refused {
		return ""
	}
	for _, r := range slices.Backward(s.Requests) {
		if r.Kind == requests.AskMerge && r.Commit == m.Commit && r.State == requests.Denied {
			return r.By
		}
	}
	return actors.Operator
}

// sentBack notes that a person, or who else has to approve work, did not accept that on a task, which
// may be nil.
func (s workFold) sentBack(t *Task, r Return) {
	if t == nil {
		return
	}
	r.Kind = "sent back"
	t.SentBack++
	t.returned(r)
}
