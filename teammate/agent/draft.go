package agent

// Draft shows people what a model writes before its answer is complete. The text is
// provisional: no tool runs by it, it is in no transcript and no journal, and the message
// that is recorded takes its place. The methods do not block. They may be called from
// several goroutines.
type Draft interface {
	// Add appends a piece of text.
	Add(text string)
	// Withdraw removes the text, because its answer failed.
	Withdraw()
}

// Drafter is a Host that shows what its agent's model writes. The Host of a Teammate
// implements it.
type Drafter interface {
	Draft() Draft
}

// Drafts returns the Draft of a member, or that of its helper with the given id. A nil Drafts
// has none.
type Drafts func(helper string) Draft

// Of returns the Draft of the member, or of a helper.
func (d Drafts) Of(helper string) Draft {
	if d == nil {
		return Unseen{}
	}
	return d(helper)
}

// DraftOf returns the Draft of a Host; Unseen if it has none.
func DraftOf(h Host) Draft {
	if d, ok := h.(Drafter); ok {
		return d.Draft()
	}
	return Unseen{}
}

// Unseen is a Draft that nobody sees.
type Unseen struct{}

// Add implements Draft.
func (Unseen) Add(string) {}

// Withdraw implements Draft.
func (Unseen) Withdraw() {}
