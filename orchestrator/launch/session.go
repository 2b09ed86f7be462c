package launch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// programSession is the stored session of a member's agent program.
type programSession struct {
	ID      string    `json:"id"`
	Made    time.Time `json:"made"`
	Agent   string    `json:"agent"`          // lives.AgentTitle then; another program cannot resume it
	Member  string    `json:"session"`        // the member's own session at that time
	CostUSD float64   `json:"cost,omitempty"` // the cost that the program reported last
	LifeUSD float64   `json:"life,omitempty"` // the member's cost with all its agents
}

// programKey is the store key of the session of a member's program.
func programKey(member string) string { return "program/" + member }

// RecallCost adds the cost of a member's programs in earlier runs to the ledger.
func (p *Programs) RecallCost(ctx context.Context, member string) error {
	var past programSession
	if err := tasks.ReadValue(ctx, p.opts.Store, programKey(member), &past); err != nil {
		return err
	}
	p.opts.Ledger.Recall(member, past.LifeUSD)
	return nil
}

// loadSession loads the session that the member's program had in an earlier run.
func (f *instance) loadSession(ctx context.Context, switched bool) error {
	var past programSession
	if err := tasks.ReadValue(ctx, f.programs.opts.Store, programKey(f.Member.Name), &past); err != nil {
		return err
	}
	if switched {
		past.ID = "" // that session lacks the work since
	}
	before := budget.Cost{Life: past.LifeUSD}
	if past.Agent == lives.AgentTitle(f.Member.CurrentAgent()) && past.Member == f.Member.Session.Session {
		f.past = past
		before.Session = past.CostUSD
	}
	f.noMemory = f.past.ID == "" && f.last != ""
	f.bill = f.programs.opts.Ledger.NewBill(f.Member.Name, before, func(now budget.Cost) {
		f.past.CostUSD, f.past.LifeUSD = now.Session, now.Life
		f.past.Agent, f.past.Member = lives.AgentTitle(f.Member.CurrentAgent()), f.Member.Session.Session
		// If it is not stored, the next run may count the cost of this run again.
		if err := f.put(f.past); err != nil {
			f.programs.opts.Log.Warn("store the cost of a session", "member", f.Member.Name, "err", err)
		}
	})
	return nil
}

// keepSession stores the id of a new session before the program uses it.
func (f *instance) keepSession(id string) error {
	f.past = programSession{
		ID: id, Made: time.Now(), Agent: lives.AgentTitle(f.Member.CurrentAgent()),
		Member: f.Member.Session.Session, LifeUSD: f.bill.NewSession(),
	}
	return f.put(f.past)
}

// system returns the system prompt of a new session. A member that worked with another
// agent before has a past that no session of this program contains.
func (f *instance) system() string {
	text := f.System()
	if f.noMemory {
		text += "\n" + f.brief()
	}
	return text
}

// lostBrief returns the brief for a session that replaces a lost one; empty where
// system included it.
func (f *instance) lostBrief() string {
	if f.noMemory {
		return ""
	}
	return f.brief()
}

// Limits of a brief.
const (
	briefTimeout = 5 * time.Second // for the store
	briefText    = 4000            // characters of the member's last text
)

// brief tells a program whose session is lost about its member's current work.
func (f *instance) brief() string {
	ctx, cancel := context.WithTimeout(context.Background(), briefTimeout)
	defer cancel()
	return f.programs.Brief(ctx, f.Member.Name, f.lastText())
}

// Brief tells a member that has lost its memory about its work: the goal, its tasks, and its
// last text.
func (p *Programs) Brief(ctx context.Context, member, last string) string {
	var b strings.Builder
	b.WriteString("You have worked in this team before, and have no memory of it. What is known:\n")
	if goal := strings.TrimSpace(p.opts.Goal()); goal != "" {
		b.WriteString("\nThe team's goal:\n" + notation.Clip(goal, briefText) + "\n")
	}
	all, err := p.opts.Store.List(ctx)
	if err != nil {
		b.WriteString("\nThe task list could not be read; look at it before you go on.\n")
	}
	b.WriteString(briefTasks(all, member))
	if last != "" {
		b.WriteString("\nWhat you said last:\n" + notation.Clip(last, briefText) + "\n")
	}
	b.WriteString("\nLook at the state of the files before you go on: work that you have begun may be in them.")
	return b.String()
}

// briefTasks lists a member's tasks with their details.
func briefTasks(all []tasks.Task, member string) string {
	var b strings.Builder
	for _, t := range all {
		if t.Owner != member {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\nYour tasks:\n")
		}
		fmt.Fprintf(&b, "- #%s %s (%s)\n", t.ID, mail.Summary(notation.Defuse(notation.Unbroken(t.Subject))), t.Status)
		if t.Status == tasks.InProgress && t.Description != "" {
			b.WriteString("  " + strings.ReplaceAll(t.Description, "\n", "\n  ") + "\n")
		}
		for _, e := range t.Evidence {
			if e.File != "" {
				b.WriteString("  evidence: " + notation.Unbroken(e.File) + "\n")
			}
		}
	}
	return b.String()
}

// lastText returns the member's last text, in this run or before it.
func (f *instance) lastText() string { return cmp.Or(f.Said(), f.last) }

// LastSaid returns the text of the last message of a conversation that contains text of
// the member.
func LastSaid(messages []agent.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == agent.Assistant && m.Text() != "" {
			return m.Text()
		}
	}
	return ""
}
