package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// A member with `plan: required` is in permission mode plan, in which it can
// change nothing, until its plan is approved by its lead, by a person (for the
// lead itself), or by a PermissionRequest or PreToolUse hook. An approval holds
// for the member's life, over restarts and new sessions; `covey up --fresh` begins
// another life. While the plan waits for approval the member's turns end without
// gates, because there is no work yet to judge.

// PlanTool is the name in hooks of the tool that submits a plan.
const PlanTool = "ExitPlanMode"

// PlanGate keeps members with `plan: required` from working before their plans
// are approved. Its methods may be called from any goroutine.
type PlanGate struct {
	inbox *Inbox

	deciding sync.Mutex // held while a member's mode and its approval change together

	mu       sync.Mutex
	approved map[string]bool // by member
}

// keyPlan is the store's key for the permission mode granted to a member.
func keyPlan(member string) string { return "plan/" + member }

// grantedMode is a permission mode granted by an approved plan or by GiveMode.
type grantedMode struct {
	Session string `json:"session"` // the only life that the grant is for, by its first session
	Mode    string `json:"mode"`
	// Spec is the mode in the spec at the time of GiveMode; a later change of the
	// spec overrides the grant. It is empty for an approved plan, whose mode
	// stays.
	Spec configs.PermissionMode `json:"spec,omitempty"`
}

// StartingMode returns the permission mode that a member starts with.
//
// It is called while the member is hired. A grant of another session does not
// count, because after `up --fresh` the member needs a new plan.
func (g *PlanGate) StartingMode(ctx context.Context, m *members.Member) (string, error) {
	g.approve(m.Name, false)
	var granted grantedMode
	if err := tasks.ReadValue(ctx, g.inbox.deps.Store, keyPlan(m.Name), &granted); err != nil {
		return "", fmt.Errorf("read the permission mode granted to %s: %w", m.Name, err)
	}
	holds := granted.Session == m.Session.Life() && granted.Mode != "" && MayHaveMode(true, m, granted.Mode) == nil
	changed := holds && granted.Spec == usualMode(m)
	switch {
	case !m.PlanRequired && changed:
		return granted.Mode, nil
	case !m.PlanRequired:
		return string(cmp.Or(m.PermissionMode, configs.Default)), nil
	case changed, holds && granted.Spec == "":
		g.approve(m.Name, true)
		return granted.Mode, nil
	case holds: // the spec's mode has changed since, but the plan is still approved
		g.approve(m.Name, true)
		return string(usualMode(m)), nil
	}
	return string(configs.Plan), nil
}

// restart sets the mode of a member that restarts within the same run. A plan
// may have been approved for the old seat while the new one was made. After an error the
// member keeps the stricter mode.
func (g *PlanGate) restart(ctx context.Context, m *members.Member) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	mode, err := g.StartingMode(ctx, m)
	if err != nil {
		return err
	}
	return g.inbox.deps.Members.SetMode(m.Name, mode)
}

// approve records whether a member's plan is approved.
func (g *PlanGate) approve(member string, approved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.approved[member] = approved
}

// MustPlan reports whether a member still needs an approved plan.
func (g *PlanGate) MustPlan(m *members.Member) bool { return m.PlanRequired && !g.isApproved(m.Name) }

// isApproved reports whether a plan of a member is approved.
func (g *PlanGate) isApproved(member string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.approved[member]
}

// OnHold returns the answer that a member waits for before gates judge its turn
// end, or "" (teammate.Options.OnHold).
//
// The member's goroutine calls it at each turn end. A member that must plan and
// has not submitted a plan is not on hold, so that its gates can tell it to.
func (g *PlanGate) OnHold(m *members.Member) string {
	if !g.MustPlan(m) {
		return ""
	}
	for _, r := range g.inbox.sorted().About[m.Name] {
		if r.Kind == requests.AskPlan {
			return Awaited(r)
		}
	}
	return ""
}

// PlanInput is the input of PlanTool.
type PlanInput struct {
	Plan string `json:"plan" jsonschema:"what you mean to do, step by step, for whoever approves it"`
}

// planOutput is the structured result of PlanTool (TEAMS.md 2).
type planOutput struct {
	Plan     string `json:"plan"`
	IsAgent  bool   `json:"isAgent"`
	FilePath string `json:"filePath,omitempty"`
	Awaiting bool   `json:"awaitingLeaderApproval,omitempty"`
	mail.RequestRef
}

// Submit submits a member's plan to its approver. by is the member as the actor
// of its call, and fire runs its hooks.
//
// It does not wait for the answer, because a restart of the team would lose a
// call that is open for hours. The request is in the store, and the answer comes
// as mail.
func (g *PlanGate) Submit(
	ctx context.Context, m *members.Member, by actors.Actor, in PlanInput, fire Fire,
) agent.ToolResult {
	switch {
	case !g.MustPlan(m):
		return agent.ToolResult{Content: "Your plan is approved already. Go on with the work.",
			Response: texts.Encode(planOutput{Plan: in.Plan, IsAgent: !m.Lead})}
	case strings.TrimSpace(in.Plan) == "":
		return agent.Failed("the plan is empty; write into \"plan\" what you mean to do")
	}
	if teammate.SettledByHook(ctx) {
		return g.approvedByHook(ctx, m, in, string(usualMode(m)))
	}
	if r, decided := g.planHooks(ctx, m, in, fire); decided {
		return r
	}
	r, err := g.askPlan(ctx, m, by, in.Plan)
	if err != nil {
		return agent.Failed("%v", err)
	}
	who := AnswererName(r.To)
	if m.Lead || r.To == actors.Operator {
		g.inbox.Notify(ctx, m.Name, r)
	}
	return agent.ToolResult{
		Content: fmt.Sprintf("Your plan has been submitted to %s for approval (request %s).\n\nEnd your turn now and do nothing "+
			"before the answer: a message will tell you. If the plan is approved, carry it out. If it is refused, revise it "+
			"by what is said and submit it again.", who, r.ID),
		Response: texts.Encode(planOutput{
			Plan: in.Plan, IsAgent: !m.Lead, Awaiting: r.To != actors.Operator, RequestRef: mail.Ref(r.ID),
		}),
	}
}

// planHooks runs the PermissionRequest hooks, which can decide about a plan
// instead of the approver.
//
// If they fail they decide nothing, and the plan goes to the approver as usual.
func (g *PlanGate) planHooks(
	ctx context.Context, m *members.Member, in PlanInput, fire Fire,
) (r agent.ToolResult, decided bool) {
	out, err := fire(ctx, hooks.PermissionRequestInput{ToolName: PlanTool, ToolInput: texts.Encode(in)})
	if err != nil {
		return r, false
	}
	switch out.Permission.Decision {
	case "allow":
		var more struct {
			Permissions []hooks.PermissionUpdate `json:"updatedPermissions"`
		}
		mode := string(usualMode(m))
		if decision, ok := out.Output["decision"]; ok && json.Unmarshal(decision, &more) == nil {
			for _, u := range more.Permissions {
				if u.Type == "setMode" {
					mode = u.Mode
				}
			}
		}
		return g.approvedByHook(ctx, m, in, mode), true
	case "deny":
		reason := out.Permission.Reason
		if reason == "" {
			reason = "a PermissionRequest hook refused it"
		}
		return agent.Failed("your plan is not approved: %s\nRevise it and submit it again", reason), true
	}
	return r, false
}

// approvedByHook sets the mode of a member whose plan a hook has approved, and
// withdraws the requests for its earlier plans.
func (g *PlanGate) approvedByHook(ctx context.Context, m *members.Member, in PlanInput, mode string) agent.ToolResult {
	if err := g.grant(ctx, m, mode); err != nil {
		return agent.Failed("%v", err)
	}
	if err := g.inbox.withdrawAll(ctx, "a hook has approved another plan", func(r requests.Request) bool {
		return r.Kind == requests.AskPlan && r.Member == m.Name
	}); err != nil {
		g.inbox.deps.Log.Error("cannot withdraw the request about an earlier plan", "member", m.Name, "err", err)
	}
	return agent.ToolResult{
		Content:  "A hook of the team has approved your plan. Carry it out.",
		Response: texts.Encode(planOutput{Plan: in.Plan, IsAgent: !m.Lead}),
	}
}

// askPlan stores the question. The same plan submitted twice is one question.
//
// It first withdraws the member's other plans, so that nobody approves an old
// one. If covey crashes in between, no plan is open and the member submits it
// again.
func (g *PlanGate) askPlan(ctx context.Context, m *members.Member, by actors.Actor, plan string) (requests.Request, error) {
	to := g.approver(m)
	n := requests.New{
		Kind: requests.AskPlan, Member: m.Name, To: to, Key: requests.KeyOf(m.Session.Life(),
			plan), Wait: g.inbox.limit,
		Text:    fmt.Sprintf("%s asks for approval of its plan: %s", m.Name, texts.Preview(plan, 500)),
		Payload: texts.Encode(Payload{Plan: plan, Session: m.Session.Life()}),
	}
	if to != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing { return g.planMail(r, plan) }
	}
	if err := g.inbox.withdrawAll(ctx, "another plan was submitted", func(r requests.Request) bool {
		return r.Kind == requests.AskPlan && r.Member == m.Name && r.Key != n.Key
	}); err != nil {
		return requests.Request{}, err
	}
	return g.inbox.Ask(ctx, by, n)
}

// approver returns who decides about a member's plan: the lead, or the operator
// for the lead's own plan and if the lead takes no more turns.
func (g *PlanGate) approver(m *members.Member) string {
	lead := g.inbox.deps.Members.LeadMember()
	if m.Lead || g.inbox.deps.Members.GoneFor(lead.Name) != "" {
		return actors.Operator
	}
	return lead.Name
}

// planMail returns the mail that asks the lead. A plan longer than mail.MaxText
// goes into a file.
func (g *PlanGate) planMail(r requests.Request, plan string) mail.Outgoing {
	data := mail.PlanRequest{
		Type: mail.PlanAsked, RequestRef: mail.Ref(r.ID), From: r.Member, Plan: plan, Timestamp: g.inbox.deps.Clock.Now(),
	}
	if len(plan) > mail.MaxText {
		if text, err := g.inbox.deps.Letters.Keep(r.To, plan); err == nil {
			data.Plan = text
		} else {
			data.Plan = mail.Head(plan, mail.MaxText) + "\n[the rest could not be kept: " + err.Error() + "]"
		}
	}
	return mail.Outgoing{
		Kind: mail.PlanAsked, Text: r.Text, Summary: mail.Summary(r.Text), Data: texts.Encode(data),
	}
}

// ApplyAnswer sets the mode of a member whose plan was approved. A refusal, and a
// plan of another session, change no mode.
func (g *PlanGate) ApplyAnswer(ctx context.Context, r requests.Request) error {
	m, ok := g.inbox.deps.Members.Member(r.Member)
	if !ok || !r.Approved() || PayloadOf(r).Session != m.Session.Life() {
		return nil
	}
	mode := r.Mode
	if mode == "" {
		mode = string(usualMode(m))
	}
	if err := g.grant(ctx, m, mode); err != nil {
		return fmt.Errorf("let %s carry out its plan: %w", r.Member, err)
	}
	return nil
}

// grant gives a member with an approved plan the mode in which it works. It does
// nothing if a plan is approved already: the same answer may be acted on twice, and
// the member may have got another mode since.
func (g *PlanGate) grant(ctx context.Context, m *members.Member, mode string) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	if g.isApproved(m.Name) {
		return nil
	}
	if err := g.setMode(ctx, m, grantedMode{Mode: mode}); err != nil {
		return err
	}
	g.approve(m.Name, true) // only now: whoever acts on the answer again after an error must store it
	return nil
}

// setMode sets a member's mode, and then stores it, because the mail with the answer is
// already sent. After a crash in between, the next start acts on the answer again.
func (g *PlanGate) setMode(ctx context.Context, m *members.Member, granted grantedMode) error {
	if err := MayHaveMode(true, m, granted.Mode); err != nil { // hooks give modes, too
		return err
	}
	granted.Session = m.Session.Life()
	if err := g.inbox.deps.Members.SetMode(m.Name, granted.Mode); err != nil {
		return err
	}
	if err := g.inbox.deps.Store.Put(ctx, keyPlan(m.Name), texts.Encode(granted)); err != nil {
		return fmt.Errorf("store the permission mode of %s: %w", m.Name, err)
	}
	return nil
}

// GiveMode gives a member a permission mode for its session. The call can be repeated after
// an error.
func (g *PlanGate) GiveMode(ctx context.Context, m *members.Member, mode string) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	return g.setMode(ctx, m, grantedMode{Mode: mode, Spec: usualMode(m)})
}

// Fire runs the hooks of one event for a member.
type Fire func(context.Context, hooks.Payload) (hooks.Outcome, error)
