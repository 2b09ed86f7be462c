package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/mailtext"
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

// The tool by which a plan is submitted, for the builtin agent and over MCP.
const (
	planTool = "ExitPlanMode"
	mcpPlan  = "team_submit_plan"
)

// PlanToolName is the team tool by which an agent program submits its plan.
const PlanToolName = mcpPlan

// keyPlan is where the store has what a member's approved plan lets it do.
func keyPlan(member string) string { return "plan/" + member }

// planLeave is what an approval has given a member.
type planLeave struct {
	Session string `json:"session"` // for this session alone
	Mode    string `json:"mode"`
	// Spec is the mode that the spec gave the member when somebody changed it (setMode):
	// what the spec says later goes before. Empty: an approved plan, whose mode stays.
	Spec configs.PermissionMode `json:"spec,omitempty"`
}

// usualMode is a member's permission mode once it need not plan any more. A spec
// that gives it mode plan for good says so by the mode alone.
func usualMode(m configs.Member) configs.PermissionMode {
	if m.PermissionMode == "" || m.PermissionMode == configs.Plan && m.PlanRequired {
		return configs.Default
	}
	return m.PermissionMode
}

// startingMode is the permission mode that a member begins this run with.
//
// It is called while the member is hired, before anybody else knows the seat. A leave
// of another session does not count: after `up --fresh` the plan is another one.
func (c *crew) startingMode(ctx context.Context, s *seat) (string, error) {
	var leave planLeave
	if err := tasks.ReadValue(ctx, c.store, keyPlan(s.member.Name), &leave); err != nil {
		return "", fmt.Errorf("the approved plan of %s: %w", s.member.Name, err)
	}
	holds := leave.Session == s.member.Session.Session && leave.Mode != ""
	changed := holds && leave.Spec == usualMode(*s.member.Member)
	switch {
	case !s.member.PlanRequired && changed:
		return leave.Mode, nil
	case !s.member.PlanRequired:
		return string(cmp.Or(s.member.PermissionMode, configs.Default)), nil
	case changed, holds && leave.Spec == "":
		s.planned = true
		return leave.Mode, nil
	case holds: // the spec has another mode by now, and the plan is approved all the same
		s.planned = true
		return string(usualMode(*s.member.Member)), nil
	}
	return string(configs.Plan), nil
}

// mustPlan reports whether a member's plan is still to be approved.
func (s *seat) mustPlan() bool {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	return s.member.PlanRequired && !s.planned
}

// onHold is whose answer the member waits for before its turn end is anything to
// judge (teammate.Options.OnHold).
//
// The member's goroutine asks it when a turn ends. A member that must plan and has not
// submitted anything is not on hold: its gates may tell it so.
func (s *seat) onHold() string {
	if !s.mustPlan() {
		return ""
	}
	for _, r := range s.crew.asks.sorted().About[s.member.Name] {
		if r.Kind == requests.AskPlan {
			return answerOf(r)
		}
	}
	return ""
}

// planInput is what the tool gets.
type planInput struct {
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

// planDescription says what the tool is for.
const planDescription = "Submit your plan for approval. Until it is approved you may only read. A message will tell you the " +
	"answer: end your turn after this call, and begin with the work when the plan is approved."

// planTool makes the tool for a member under a name.
func (s *seat) planTool(name string) (agent.Tool, error) {
	return newTeamTool(name, planDescription, map[string]string{"text": "plan", "content": "plan"},
		func(ctx context.Context, callID string, in planInput) agent.ToolResult {
			return s.submitPlan(ctx, callID, in)
		})
}

// foreignTools are the team tools of a member whose agent is a program.
func (s *seat) foreignTools() ([]foreignTool, error) {
	list, err := foreignTools(s.crew.board, s.actor, s.crew.roster)
	if err != nil || !s.member.PlanRequired {
		return list, err
	}
	plan, err := s.planTool(mcpPlan)
	return append(list, foreignTool{Tool: plan}), err
}

// submitPlan puts a member's plan before its approver.
//
// It does not wait. A call that is held open for hours is a call that is lost when the
// team is restarted; the request is in the store and the answer comes as mail, with
// which the member can be another process.
func (s *seat) submitPlan(ctx context.Context, callID string, in planInput) agent.ToolResult {
	c := s.crew
	switch {
	case !s.mustPlan():
		return agent.ToolResult{Content: "Your plan is approved already. Go on with the work.",
			Response: rawjson.Encode(planOutput{Plan: in.Plan, IsAgent: !s.member.Lead})}
	case strings.TrimSpace(in.Plan) == "":
		return toolError(wording.Errorf(api.ErrEmpty, "the plan is empty; write into \"plan\" what you mean to do"))
	}
	if teammate.SettledByHook(ctx) {
		return s.approvedByHook(ctx, in, string(usualMode(*s.member.Member)))
	}
	if r, decided := s.planHooks(ctx, in); decided {
		return r
	}
	r, err := c.askPlan(ctx, s, callID, in.Plan)
	if err != nil {
		return toolError(err)
	}
	who := answererName(r.To)
	if s.member.Lead || r.To == actors.Operator {
		c.notifyPeople(ctx, s.member.Name, r)
	}
	return agent.ToolResult{
		Content: fmt.Sprintf("Your plan has been submitted to %s for approval (request %s).\n\nEnd your turn now and do nothing "+
			"before the answer: a message will tell you. If the plan is approved, carry it out. If it is refused, revise it "+
			"by what is said and submit it again.", who, r.ID),
		Response: rawjson.Encode(planOutput{
			Plan: in.Plan, IsAgent: !s.member.Lead, Awaiting: r.To != actors.Operator, RequestRef: mail.Ref(r.ID),
		}),
	}
}

// planHooks asks the PermissionRequest hooks, by which a policy can decide at once
// and nobody else is asked.
//
// A hook that fails decides nothing: it must neither let a plan pass nor cost the member
// its plan, so the question goes to the approver as usual.
func (s *seat) planHooks(ctx context.Context, in planInput) (r agent.ToolResult, decided bool) {
	if s.fire == nil {
		return r, false
	}
	out, err := s.fire(ctx, hooks.PermissionRequestInput{ToolName: planTool, ToolInput: rawjson.Encode(in)})
	if err != nil {
		return r, false // then it is as if there were no such hooks
	}
	switch out.Permission.Decision {
	case "allow":
		var more struct {
			Permissions []hooks.PermissionUpdate `json:"updatedPermissions"`
		}
		mode := string(usualMode(*s.member.Member))
		if decision, ok := out.Output["decision"]; ok && json.Unmarshal(decision, &more) == nil {
			for _, u := range more.Permissions {
				if u.Type == "setMode" {
					mode = u.Mode
				}
			}
		}
		return s.approvedByHook(ctx, in, mode), true
	case "deny":
		reason := out.Permission.Reason
		if reason == "" {
			reason = "a PermissionRequest hook refused it"
		}
		return toolError(fmt.Errorf("your plan is not approved: %s\nRevise it and submit it again", reason)), true
	}
	return r, false
}

// approvedByHook lets the member begin with a plan that a hook has approved, in a mode. A
// plan that it has submitted before is nobody's question any more.
func (s *seat) approvedByHook(ctx context.Context, in planInput, mode string) agent.ToolResult {
	if err := s.crew.leavePlanning(ctx, s, mode); err != nil {
		return toolError(err)
	}
	if err := s.crew.asks.withdrawAll(ctx, "a hook has approved another plan", func(r requests.Request) bool {
		return r.Kind == requests.AskPlan && r.Member == s.member.Name
	}); err != nil {
		s.crew.log.Error("a plan that nobody need look at is still asked about", "member", s.member.Name, "err", err)
	}
	return agent.ToolResult{
		Content:  "A hook of the team has approved your plan. Carry it out.",
		Response: rawjson.Encode(planOutput{Plan: in.Plan, IsAgent: !s.member.Lead}),
	}
}

// askPlan stores the question. The same plan submitted twice is one question.
//
// Two open plans of one member would let an old one be approved while the member means
// the new one. Therefore all with another key are withdrawn first; if covey dies in
// between, the member has no plan open and submits it again.
func (c *crew) askPlan(ctx context.Context, s *seat, callID, plan string) (requests.Request, error) {
	to := c.planApprover(s)
	n := requests.New{
		Kind: requests.AskPlan, Member: s.member.Name, To: to, Key: requests.KeyOf(s.member.Session.Session,
			plan), Wait: c.asks.limit,
		Text:    fmt.Sprintf("%s asks for approval of its plan: %s", s.member.Name, wording.Preview(plan, 500)),
		Payload: rawjson.Encode(requestPayload{Plan: plan, Session: s.member.Session.Session}),
	}
	if to != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing { return c.planMail(r, plan) }
	}
	// A plan that is submitted while another one waits takes its place.
	if err := c.asks.withdrawAll(ctx, "another plan was submitted", func(r requests.Request) bool {
		return r.Kind == requests.AskPlan && r.Member == s.member.Name && r.Key != n.Key
	}); err != nil {
		return requests.Request{}, err
	}
	by := s.actor(callID).Actor
	return c.asks.ask(ctx, by, n)
}

// planApprover is who decides about a member's plan: the lead, if it can.
//
// A lead that is gone answers nothing, and its own plan it cannot approve: then it is
// for people, who are notified.
func (c *crew) planApprover(s *seat) string {
	lead := c.seats()[0]
	if s.member.Lead || lead.goneReason() != "" {
		return actors.Operator
	}
	return lead.member.Name
}

// planMail asks the lead. A plan that is too long for a message is in a file.
func (c *crew) planMail(r requests.Request, plan string) mail.Outgoing {
	data := mail.PlanRequest{
		Type: mail.PlanAsked, RequestRef: mail.Ref(r.ID), From: r.Member, Plan: plan, Timestamp: c.clock.Now(),
	}
	if len(plan) > mailtext.MaxBody {
		if text, err := c.board.letters.Keep(r.To, plan); err == nil {
			data.Plan = text
		} else {
			data.Plan = mailtext.Head(plan, mailtext.MaxBody) + "\n[the rest could not be kept: " + err.Error() + "]"
		}
	}
	return mail.Outgoing{
		Kind: mail.PlanAsked, Text: r.Text, Summary: mailtext.Summary(r.Text), Data: rawjson.Encode(data),
	}
}

// answerPlan implements protocol.
func (c *crew) answerPlan(ctx context.Context, by actor, a requestAnswer) error {
	_, err := c.asks.answer(ctx, by.Actor, a, requests.AskPlan, requests.AskApproval, requests.AskMerge)
	return err
}

// planSettled lets a member begin whose plan was approved.
//
// A plan of another session, or a refusal, changes no mode; the member hears of both by
// the mail that went with the answer.
func (c *crew) planSettled(ctx context.Context, r requests.Request) error {
	s, ok := c.seat(r.Member)
	if !ok || !r.Approved() || payloadOf(r).Session != s.member.Session.Session {
		return nil
	}
	mode := r.Mode
	if mode == "" {
		mode = string(usualMode(*s.member.Member))
	}
	return c.leavePlanning(ctx, s, mode)
}

// leavePlanning gives a member the mode in which it works.
func (c *crew) leavePlanning(ctx context.Context, s *seat, mode string) error {
	// At once: the mail that tells it is on its way. If a crash comes in between,
	// the answer is settled once more at the next start.
	if s.mate != nil {
		if err := s.mate.Rights().SetMode(mode); err != nil {
			return err
		}
	}
	c.mu.Lock()
	s.planned = true
	c.mu.Unlock()
	leave := planLeave{Session: s.member.Session.Session, Mode: mode}
	if err := c.store.Put(ctx, keyPlan(s.member.Name), rawjson.Encode(leave)); err != nil {
		return fmt.Errorf("keep that the plan of %s is approved: %w", s.member.Name, err)
	}
	return nil
}

// mayFinish refuses the completion of a task by a member that has not begun: a
// plan that nobody has approved did nothing.
//
// Who need not plan may always, and so may a name that is no member's. The words name
// the tool by the name under which the member's agent knows it.
func (c *crew) mayFinish(member string) error {
	if s, ok := c.seat(member); ok && s.mustPlan() {
		return wording.Errorf(tasks.ErrTransition, "your plan is not approved yet, so no task of yours can be completed; "+
			"submit the plan with %s and wait for the answer", tongueOf(s.member.CurrentAgent()).planning())
	}
	return nil
}

// planning names the way to submit a plan.
func (t tongue) planning() string {
	switch t {
	case byMCP:
		return mcpPlan
	case byShell:
		return "`" + coveyShell + " plan -`"
	}
	return planTool
}

// planPrompt tells a member that must plan what that means; empty for others.
func planPrompt(m configs.Member) string {
	if !m.PlanRequired {
		return ""
	}
	return "You must plan first: until your plan is approved you may only read. Look around, then submit your plan with " +
		tongueOf(m.Agent).planning() + ", end your turn, and wait for the answer.\n"
}
