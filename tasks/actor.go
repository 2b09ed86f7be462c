package tasks

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
	// May is asked before Update and Delete change a task, within the change and with
	// the task as it is then; its error refuses the change. It must be quick. nil: the
	// actor may change any.
	May func(Task) error
}

// may asks May.
func (a Actor) may(t Task) error {
	if a.May == nil {
		return nil
	}
	return a.May(t)
}

// member says whether the actor is a member rather than covey or the operator.
func (a Actor) member() bool { return a.Session != 0 }
