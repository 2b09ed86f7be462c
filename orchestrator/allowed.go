package orchestrator

import (
	"fmt"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

// deed is a request that is carried out on somebody's behalf.
type deed[T any] interface {
	onBehalf() (as string, force bool)
	inNameOf(member string) T
}

// What a request says of whom it acts for, and whether it asks to go past gates
// and limits. Messages have no force: there is nothing that would stop one.
func (r TaskCreate) onBehalf() (string, bool) { return r.As, r.Force }
func (r TaskUpdate) onBehalf() (string, bool) { return r.As, r.Force }
func (r TaskClaim) onBehalf() (string, bool)  { return r.As, r.Force }
func (r Send) onBehalf() (string, bool)       { return r.As, false }
func (r TeamCall) onBehalf() (string, bool)   { return r.As, false }

// The same request in the name of the member that sent it. It is what handlers
// get from a member's process, whatever As it had written into the request.
func (r TaskCreate) inNameOf(member string) TaskCreate { r.As = member; return r }
func (r TaskUpdate) inNameOf(member string) TaskUpdate { r.As = member; return r }
func (r TaskClaim) inNameOf(member string) TaskClaim   { r.As = member; return r }
func (r Send) inNameOf(member string) Send             { r.As = member; return r }
func (r TeamCall) inNameOf(member string) TeamCall     { r.As = member; return r }

// allowed says whether a caller may make this request; its error wraps
// ErrDenied and says why not. Everybody may look; members, and hooks
// that the spec lets act, may act as themselves; only the operator may act for others, override gates and
// limits, answer what waits in the inbox, interrupt, and end the team or a member;
// only members use the team tools. What is not known is refused.
func allowed(by process.Caller, v bus.Verb, req any) error {
	switch v {
	case verbStatus, verbReady, verbTasks, verbTask, verbHooks, verbReview, verbStanding, verbAttach, verbInbox, verbTrusted:
		return nil
	case verbInterrupt, verbDown, verbMerge, verbReload, verbReshape, verbAnswer, verbEnd, verbTrust:
		if by.Kind != process.Operator {
			return denied(by, "only the operator may ask for "+string(v))
		}
		return nil
	case verbCreate, verbUpdate, verbClaim, verbSend, verbTool, verbHold:
		act, ok := req.(interface{ onBehalf() (string, bool) })
		if !ok {
			break
		}
		as, force := act.onBehalf()
		if v == verbTool && by.Kind == process.Operator {
			return denied(by, "the team tools are for members; covey send and covey tasks do the same for people")
		}
		if v == verbSend && by.Kind == process.Operator && as != "" && as != by.Name() {
			return fmt.Errorf("%w: a message is from who sends it, it cannot be sent as %s", ErrDenied, as)
		}
		return mayAct(by, as, force)
	}
	return denied(by, fmt.Sprintf("nobody may %q", v))
}

// mayAct says whether a caller may act for a member.
func mayAct(by process.Caller, as string, force bool) error {
	switch {
	case by.Kind == process.Operator:
		return nil
	case by.Kind == process.Hook:
		return denied(by, "below a gate or hook covey may only look; `may_act: true` on it in the spec lets it act for its member")
	case by.Kind != process.MemberTool && by.Kind != process.ActingHook, by.Member == "":
		return denied(by, "it belongs to no member, so it may only look")
	case as != "" && as != by.Member:
		return denied(by, "it may not act as "+as)
	case force:
		return denied(by, "only the operator may use force")
	}
	return nil
}

// denied is the refusal of a caller that is not the operator.
func denied(by process.Caller, why string) error {
	return fmt.Errorf("%w: %s: %s", ErrDenied, by, why)
}
