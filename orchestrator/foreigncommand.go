package orchestrator

// command makes the agent of a program that is run once for each prompt.
func (f *foreigner) command(*offer) (thinker, error) {
	return nil, plainly(ErrSpec, "agent %q: this version cannot run programs of kind command", f.seat.member.Agent.Name)
}
