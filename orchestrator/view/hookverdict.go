package view

// Verdict returns what one hook of a Gate has decided.
func (h HookRun) Verdict() Verdict {
	switch {
	case h.Seq == 0 && !h.Reused:
		return Judging
	case h.Outcome == "blocking":
		return Refused
	case h.Outcome == "await":
		return Awaits
	case h.Outcome == "cancelled":
		return Cut
	}
	return Agreed
}
