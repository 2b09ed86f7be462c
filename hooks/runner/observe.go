package runner

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
)

// observed takes all say away from a verdict. Its Result keeps what the hook said,
// and what would have come of it.
func (v verdict) observed() verdict {
	quiet := verdict{Result: v.Result}
	switch {
	case v.halt:
		quiet.Observed = "stop"
		quiet.warn("only observed: it would have stopped this (%s)", v.stop)
	case v.refused >= hooks.Refuses:
		quiet.Observed = "block"
		quiet.warn("only observed: it would have refused this")
	case v.Waits():
		quiet.Observed = string(hooks.Await)
		quiet.warn("only observed: it would have waited for %s", v.Wait.For)
	case v.permission.Decision != "":
		quiet.Observed = v.permission.Decision
		quiet.warn("only observed: it would have said %s", v.permission.Decision)
	default:
		quiet.Observed = "pass"
	}
	if quiet.Outcome == hooks.Blocking || quiet.Outcome == hooks.Awaiting {
		quiet.Outcome, quiet.Wait = hooks.Success, nil // nothing was held up
	}
	return quiet
}

// close makes a verdict that fails open a refusal, where Options.FailClosed wants
// it so and the event can refuse.
func (v *verdict) close(known *hooks.EventInfo, found finding, why string) {
	if !found.closed || known.OnFault() < hooks.Refuses {
		return
	}
	v.refuse(known, known.OnFault(), fmt.Sprintf("[%s]: %s", found.command, why))
}
