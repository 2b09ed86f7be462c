package hooks

import "fmt"

// observed takes all say away from a verdict. Its Result keeps what the hook said,
// and what would have come of it.
func (v verdict) observed() verdict {
	quiet := verdict{Result: v.Result}
	switch {
	case v.halt:
		quiet.Observed = "stop"
		quiet.warn("only observed: it would have stopped this (%s)", v.stop)
	case v.refused >= Refuses:
		quiet.Observed = "block"
		quiet.warn("only observed: it would have refused this")
	case v.Waits():
		quiet.Observed = string(Await)
		quiet.warn("only observed: it would have waited for %s", v.Wait.For)
	case v.permission.Decision != "":
		quiet.Observed = v.permission.Decision
		quiet.warn("only observed: it would have said %s", v.permission.Decision)
	default:
		quiet.Observed = "pass"
	}
	if quiet.Outcome == Blocking || quiet.Outcome == Awaiting {
		quiet.Outcome, quiet.Wait = Success, nil // nothing was held up
	}
	return quiet
}

// close makes a verdict that fails open a refusal, where Options.FailClosed wants
// it so and the event can refuse.
func (v *verdict) close(known *EventInfo, found finding, why string) {
	if !found.closed || known.OnFault() < Refuses {
		return
	}
	v.refuse(known, known.OnFault(), fmt.Sprintf("[%s]: %s", found.command, why))
}
