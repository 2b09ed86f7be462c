package hooks

import "fmt"

// observing is the mode of hooks whose verdict is noted and not acted on: a policy
// that is being tried out.
const observing = "observe"

// observed takes all say away from a verdict; its Result keeps what the hook said.
func (v verdict) observed() verdict {
	quiet := verdict{Result: v.Result}
	quiet.Observed = true
	switch {
	case v.halt:
		quiet.warn("only observed: it would have stopped this (%s)", v.stop)
	case v.refused >= refuses:
		quiet.warn("only observed: it would have refused this")
	case v.permission.Decision != "":
		quiet.warn("only observed: it would have said %s", v.permission.Decision)
	}
	return quiet
}

// close makes a verdict that fails open a refusal, where Options.FailClosed wants
// it so and the event can refuse.
func (v *verdict) close(known *traits, found finding, why string) {
	if !found.closed || known.exit2 < refuses {
		return
	}
	v.refuse(known, known.exit2, fmt.Sprintf("[%s]: %s", found.command, why))
}
