package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// A member with `plan: required` is in permission mode plan, in which covey runs
// nothing for it that changes anything, until somebody has approved its plan:
// its lead, a person for the lead itself, or a hook: PermissionRequest, or PreToolUse
// with the input. One approval holds for the member's session, over restarts; `covey up --fresh`
// begins another. While the plan is looked at, the member's turns end without
// its gates: there is no work yet that they could judge.

// PlanTool is the name under which hooks know the tool by which a plan is submitted.
const PlanTool = "ExitPlanMode"

// PlanGate keeps members with `plan: required` from work before their plans are approved.
// Its methods may be called from any goroutine.
type PlanGate struct {
	inbox *Inbox

	deciding sync.Mutex // held while a member's mode is set by what is approved, or the other way round

	mu       sync.Mutex
	approved map[string]bool // by member
}

// keyPlan is where the store has what a member's approved plan lets it do.
func keyPlan(member string) string { return "plan/" + member }

// planLeave is what an approval has given a member.
type planLeave struct {
	Session string `json:"session"` // for this session alone
	Mode    string `json:"mode"`
	// Spec is the mode that the spec gave the member when somebody changed it (GiveMode):
	// what the spec says later goes before. Empty: an approved plan, whose mode stays.
	Spec configs.PermissionMode `json:"spec,omitempty"`
}

// StartingMode is the permission mode that a member begins its life with.
//
// It is called while the member is hired. A leave of another session does not count:
// after `up --fresh` the plan is another one.
func (g *PlanGate) StartingMode(ctx context.Context, m *roster.Member) (string, error) {
	g.approve(m.Name, false)
	var leave planLeave
	if err := tasks.ReadValue(ctx, g.inbox.ports.Store, keyPlan(m.Name), &leave); err != nil {
		return "", fmt.Errorf("the approved plan of %s: %w", m.Name, err)
	}
	holds := leave.Session == m.Session.Session && leave.Mode != ""
	changed := holds && leave.Spec == usualMode(m)
	switch {
	case !m.PlanRequired && changed:
		return leave.Mode, nil
	case !m.PlanRequired:
		return string(cmp.Or(m.PermissionMode, configs.Default)), nil
	case changed, holds && leave.Spec == "":
		g.approve(m.Name, true)
		return leave.Mode, nil
	case holds: // the spec has another mode by now, and the plan is approved all the same
		g.approve(m.Name, true)
		return string(usualMode(m)), nil
	}
	return string(configs.Plan), nil
}

// BeginAnew gives a member that begins another life in the same run the mode for it. A plan
// that was approved while its new seat was made was approved in the old one.
func (g *PlanGate) BeginAnew(ctx context.Context, m *roster.Member) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	mode, err := g.StartingMode(ctx, m)
	if err != nil {
		return err
	}
	return g.inbox.ports.SetMode(m.Name, mode)
}

// approve notes whether a member's plan is approved.
func (g *PlanGate) approve(member string, approved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.approved[member] = approved
}

// MustPlan reports whether a member's plan is still to be approved.
func (g *PlanGate) MustPlan(m *roster.Member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return m.PlanRequired && !g.approved[m.Name]
}

// OnHold is whose answer the member waits for before its turn end is anything to
// judge (teammate.Options.OnHold).
//
// The member's goroutine asks it when a turn ends. A member that must plan and has not
// submitted anything is not on hold: its gates may tell it so.
func (g *PlanGate) OnHold(m *roster.Member) string {
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

// PlanInput is what the tool gets.
type PlanInput struct {
	Plan string `json:"plan" jsonschema:"what you mean to do, step by step, for whoever approves it"`
}

// planOutput is its structured answer (TEAMS.md 2).
type planOutput struct {
	Plan     string `json:"plan"`
	IsAgent  bool   `json:"isAgent"`
	FilePath string `json:"filePath,omitempty"`
	Awaiting bool   `json:"awaitingLeaderApproval,omitempty"`
	mail.RequestRef
}

// Submit puts a member's plan before its approver.
//
// It does not wait. A call that is held open for hours is a call that is lost when the
// team is restarted; the request is in the store and the answer comes as mail, with
// which the member can be another process. by is the member in its call, and fire fires
// its hooks.
func (g *PlanGate) Submit(
	ctx context.Context, m *roster.Member, by actors.Actor, in PlanInput, fire Fire,
) agent.ToolResult {
	switch {
	case !g.MustPlan(m):
		return agent.ToolResult{Content: "Your plan is approved already. Go on with the work.",
			Response: notation.Encode(planOutput{Plan: in.Plan, IsAgent: !m.Lead})}
	case strings.TrimSpace(in.Plan) == "":
		return refused(errors.New("the plan is empty; write into \"plan\" what you mean to do"))
	}
	if teammate.SettledByHook(ctx) {
		return g.approvedByHook(ctx, m, in, string(usualMode(m)))
	}
	if r, decided := g.planHooks(ctx, m, in, fire); decided {
		return r
	}
	r, err := g.askPlan(ctx, m, by, in.Plan)
	if err != nil {
		return refused(err)
	}
	who := AnswererName(r.To)
	if m.Lead || r.To == actors.Operator {
		g.inbox.ports.Notify(ctx, m.Name, r)
	}
	return agent.ToolResult{
		Content: fmt.Sprintf("Your plan has been submitted to %s for approval (request %s).\n\nEnd your turn now and do nothing "+
			"before the answer: a message will tell you. If the plan is approved, carry it out. If it is refused, revise it "+
			"by what is said and submit it again.", who, r.ID),
		Response: notation.Encode(planOutput{
			Plan: in.Plan, IsAgent: !m.Lead, Awaiting: r.To != actors.Operator, RequestRef: mail.Ref(r.ID),
		}),
	}
}

// planHooks asks the PermissionRequest hooks, by which a policy can decide at once
// and nobody else is asked.
//
// A hook that fails decides nothing: it must neither let a plan pass nor cost the member
// its plan, so the question goes to the approver as usual.
func (g *PlanGate) planHooks(
	ctx context.Context, m *roster.Member, in PlanInput, fire Fire,
) (r agent.ToolResult, decided bool) {
	out, err := fire(ctx, hooks.PermissionRequestInput{ToolName: PlanTool, ToolInput: notation.Encode(in)})
	if err != nil {
		return r, false // then it is as if there were no such hooks
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
		return refused(fmt.Errorf("your plan is not approved: %s\nRevise it and submit it again", reason)), true
	}
	return r, false
}

// approvedByHook lets the member begin with a plan that a hook has approved, in a mode. A
// plan that it has submitted before is nobody's question any more.
func (g *PlanGate) approvedByHook(ctx context.Context, m *roster.Member, in PlanInput, mode string) agent.ToolResult {
	if err := g.leavePlanning(ctx, m, mode); err != nil {
		return refused(err)
	}
	if err := g.inbox.withdrawAll(ctx, "a hook has approved another plan", func(r requests.Request) bool {
		return r.Kind == requests.AskPlan && r.Member == m.Name
	}); err != nil {
		g.inbox.ports.Log.Error("a plan that nobody need look at is still asked about", "member", m.Name, "err", err)
	}
	return agent.ToolResult{
		Content:  "A hook of the team has approved your plan. Carry it out.",
		Response: notation.Encode(planOutput{Plan: in.Plan, IsAgent: !m.Lead}),
	}
}

// askPlan stores the question. The same plan submitted twice is one question.
//
// Two open plans of one member would let an old one be approved while the member means
// the new one. Therefore all with another key are withdrawn first; if covey dies in
// between, the member has no plan open and submits it again.
func (g *PlanGate) askPlan(ctx context.Context, m *roster.Member, by actors.Actor, plan string) (requests.Request, error) {
	to := g.approver(m)
	n := requests.New{
		Kind: requests.AskPlan, Member: m.Name, To: to, Key: requests.KeyOf(m.Session.Session,
			plan), Wait: g.inbox.limit,
		Text:    fmt.Sprintf("%s asks for approval of its plan: %s", m.Name, notation.Preview(plan, 500)),
		Payload: notation.Encode(Payload{Plan: plan, Session: m.Session.Session}),
	}
	if to != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing { return g.planMail(r, plan) }
	}
	// A plan that is submitted while another one waits takes its place.
	if err := g.inbox.withdrawAll(ctx, "another plan was submitted", func(r requests.Request) bool {
		return r.Kind == requests.AskPlan && r.Member == m.Name && r.Key != n.Key
	}); err != nil {
		return requests.Request{}, err
	}
	return g.inbox.Ask(ctx, by, n)
}

// approver is who decides about a member's plan: the lead, if it can.
//
// A lead that is gone answers nothing, and its own plan it cannot approve: then it is
// for people, who are notified.
func (g *PlanGate) approver(m *roster.Member) string {
	lead := g.inbox.ports.Lead()
	if m.Lead || g.inbox.ports.Gone(lead.Name) != "" {
		return actors.Operator
	}
	return lead.Name
}

// planMail asks the lead. A plan that is too long for a message is in a file.
func (g *PlanGate) planMail(r requests.Request, plan string) mail.Outgoing {
	data := mail.PlanRequest{
		Type: mail.PlanAsked, RequestRef: mail.Ref(r.ID), From: r.Member, Plan: plan, Timestamp: g.inbox.ports.Clock.Now(),
	}
	if len(plan) > mail.MaxText {
		if text, err := g.inbox.ports.Letters.Keep(r.To, plan); err == nil {
			data.Plan = text
		} else {
			data.Plan = mail.Head(plan, mail.MaxText) + "\n[the rest could not be kept: " + err.Error() + "]"
		}
	}
	return mail.Outgoing{
		Kind: mail.PlanAsked, Text: r.Text, Summary: mail.Summary(r.Text), Data: notation.Encode(data),
	}
}

// Settled lets a member begin whose plan was approved.
//
// A plan of another session, or a refusal, changes no mode; the member hears of both by
// the mail that went with the answer.
func (g *PlanGate) Settled(ctx context.Context, r requests.Request) error {
	m, ok := g.inbox.ports.Member(r.Member)
	if !ok || !r.Approved() || PayloadOf(r).Session != m.Session.Session {
		return nil
	}
	mode := r.Mode
	if mode == "" {
		mode = string(usualMode(m))
	}
	if err := g.leavePlanning(ctx, m, mode); err != nil {
		return fmt.Errorf("let %s carry out its plan: %w", r.Member, err)
	}
	return nil
}

// leavePlanning gives a member the mode in which it works.
func (g *PlanGate) leavePlanning(ctx context.Context, m *roster.Member, mode string) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	// At once: the mail that tells it is on its way. If a crash comes in between,
	// the answer is settled once more at the next start.
	if err := g.inbox.ports.SetMode(m.Name, mode); err != nil {
		return err
	}
	g.approve(m.Name, true)
	leave := planLeave{Session: m.Session.Session, Mode: mode}
	if err := g.inbox.ports.Store.Put(ctx, keyPlan(m.Name), notation.Encode(leave)); err != nil {
		return fmt.Errorf("keep that the plan of %s is approved: %w", m.Name, err)
	}
	return nil
}

// GiveMode gives a member a permission mode, and keeps it for its session. The mode counts
// before it is stored: of a crash in between, and of a disk that is full, the error tells,
// and made again the call comes to the same.
func (g *PlanGate) GiveMode(ctx context.Context, m *roster.Member, mode string) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	if err := g.inbox.ports.SetMode(m.Name, mode); err != nil {
		return err
	}
	leave := planLeave{Session: m.Session.Session, Mode: mode, Spec: usualMode(m)}
	if err := g.inbox.ports.Store.Put(ctx, keyPlan(m.Name), notation.Encode(leave)); err != nil {
		return fmt.Errorf("keep the permission mode of %s: %w", m.Name, err)
	}
	return nil
}

// Fire fires a hook event of a member.
type Fire func(context.Context, hooks.Payload) (hooks.Outcome, error)

// refused is the result of a call that did not submit a plan.
func refused(err error) agent.ToolResult {
	return agent.ToolResult{Content: err.Error(), IsError: true}
}
