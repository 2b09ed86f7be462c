package runner

import "github.com/coveyteam/covey/hooks"

// Quiet returns the verdict without any effect. Its Result keeps what the hook said, and
// what it would have decided.
func (v Verdict) Quiet() Verdict {
	quiet := Verdict{Result: v.Result}
	switch {
	case v.Halt:
		quiet.Observed = "stop"
		quiet.Warn("only observed: it would have stopped this (%s)", v.stop)
	case v.Refused >= hooks.Refuses:
		quiet.Observed = "block"
		quiet.Warn("only observed: it would have refused this")
	case v.Waits():
		quiet.Observed = string(hooks.Await)
		quiet.Warn("only observed: it would have waited for %s", v.Wait.For)
	case v.permission.Decision != "":
		quiet.Observed = v.permission.Decision
		quiet.Warn("only observed: it would have said %s", v.permission.Decision)
	default:
		quiet.Observed = "pass"
	}
	if quiet.Outcome == hooks.Blocking || quiet.Outcome == hooks.Awaiting {
		quiet.Outcome, quiet.Wait = hooks.Success, nil // nothing was refused or delayed
	}
	return quiet
}
