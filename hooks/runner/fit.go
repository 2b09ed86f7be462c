package runner

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// want is what decides about an input which hooks run.
type want struct {
	in              *hooks.Input
	member, subject string
	call            rules.Call
}

func (r *Runner) wantOf(in *hooks.Input) want {
	call, _ := in.Call(r.opts.rootOf(*in))
	return want{in: in, member: r.memberOf(*in), subject: in.Subject(), call: call}
}

// obstacle is what keeps a hook from running.
type obstacle int

const (
	noObstacle obstacle = iota
	otherHelper
	otherSkill
	otherMember
	noSubject
	otherSubject
	failedIf
)

// fit is whether a hook runs for an input. Texts are made only for those who read them.
type fit struct {
	runs  bool
	why   obstacle // keeps the hook from running, whatever the input leaves open
	open  obstacle // would keep it from running for some inputs, but the input leaves it open
	doubt string   // why the matcher could not be decided, so that the hook runs
}

// fit decides whether a hook runs for an input. It is the only place that does, for hooks that
// run as well as for lists of what would run.
func (r *Runner) fit(h *armed, w *want) fit {
	var f fit
	var loaded func(skill string) bool
	if h.source.Skill != "" {
		loaded = r.opts.session(*w.in).Loaded
	}
	switch at := h.source; {
	case !w.in.ForHelper(at.Helper):
		return fit{why: otherHelper}
	case loaded != nil && !loaded(at.Skill):
		return fit{why: otherSkill}
	case at.Member != "" && w.member != "" && at.Member != w.member:
		return fit{why: otherMember}
	case at.Member != "" && w.member == "":
		f.open = otherMember
	case at.Skill != "" && loaded == nil:
		f.open = otherSkill
	}
	f.runs = f.open == noObstacle // what is open counts as not met, except for an `if`
	yes, doubt := h.matcher.Matches(w.subject)
	switch f.doubt = doubt; {
	case !yes && w.subject == "":
		return fit{why: noSubject}
	case !yes:
		return fit{why: otherSubject}
	case h.never:
		return fit{why: failedIf}
	case h.rule == nil:
		return f
	}
	fires := h.rule.Fires(w.call)
	switch {
	// Without the input of the call, only its tool can rule the hook out.
	case len(w.call.Input) > 0 && !fires, !h.rule.MayFire(w.call.Tool):
		return fit{why: failedIf}
	case len(w.call.Input) == 0 && h.rule.Spec != "":
		f.open = failedIf
	}
	f.runs = f.runs && fires
	return f
}

// texts returns why a hook does not run for the input, or on what that depends; both are
// empty if it runs.
func (f fit) texts(h *armed, w *want) (not, only string) {
	switch f.why {
	case otherHelper:
		return "it is only for helpers of the kind " + h.source.Helper, ""
	case otherSkill:
		return "its skill " + h.source.Skill + " is not loaded", ""
	case otherMember:
		return "it is only for " + h.source.Member, ""
	case noSubject:
		return "its matcher needs a subject, and there is none", ""
	case otherSubject:
		return fmt.Sprintf("its matcher does not match %s", texts.Preview(w.subject, 60)), ""
	case failedIf:
		return "its `if` does not hold: " + h.If, ""
	}
	switch f.open {
	case otherMember:
		return "", "for " + h.source.Member
	case otherSkill:
		return "", "once the skill " + h.source.Skill + " is loaded"
	case failedIf:
		return "", "if " + h.If
	}
	return "", f.doubt
}
