package launch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// programSession is what a member's agent program called its session. It is
// kept in the store, under a key of the member's.
type programSession struct {
	ID      string    `json:"id"`
	Made    time.Time `json:"made"`
	Agent   string    `json:"agent"`          // roster.AgentTitle then: another program knows nothing of it
	Member  string    `json:"session"`        // the member's own session then
	CostUSD float64   `json:"cost,omitempty"` // what the program last said that it has cost
	LifeUSD float64   `json:"life,omitempty"` // what the member has cost, with all its agents
}

// programKey is where the session of a member's program is kept.
func programKey(member string) string { return "program/" + member }

// RecallCost tells the ledger what the programs of a member have cost in earlier runs.
func (p *Programs) RecallCost(ctx context.Context, member string) error {
	var past programSession
	if err := tasks.ReadValue(ctx, p.opts.Store, programKey(member), &past); err != nil {
		return err
	}
	p.opts.Ledger.Recall(member, past.LifeUSD)
	return nil
}

// recall finds the session that the member's program had in an earlier run.
func (f *instance) recall(ctx context.Context, switched bool) error {
	var past programSession
	if err := tasks.ReadValue(ctx, f.programs.opts.Store, programKey(f.Member.Name), &past); err != nil {
		return err
	}
	if switched {
		past.ID = "" // that session knows nothing of what came since
	}
	before := budget.Cost{Life: past.LifeUSD}
	if past.Agent == roster.AgentTitle(f.Member.CurrentAgent()) && past.Member == f.Member.Session.Session {
		f.past = past
		before.Session = past.CostUSD
	}
	f.stranger = f.past.ID == "" && f.last != ""
	f.bill = f.programs.opts.Ledger.NewBill(f.Member.Name, before, func(now budget.Cost) {
		f.past.CostUSD, f.past.LifeUSD = now.Session, now.Life
		f.past.Agent, f.past.Member = roster.AgentTitle(f.Member.CurrentAgent()), f.Member.Session.Session
		// If it cannot be kept, the cost of this run may be told once more in the next.
		if err := f.put(f.past); err != nil {
			f.programs.opts.Log.Warn("the cost of a session was not kept", "member", f.Member.Name, "err", err)
		}
	})
	return nil
}

// keepSession keeps a new session's id, on disk, before the program uses it.
func (f *instance) keepSession(id string) error {
	f.past = programSession{
		ID: id, Made: time.Now(), Agent: roster.AgentTitle(f.Member.CurrentAgent()),
		Member: f.Member.Session.Session, LifeUSD: f.bill.NewSession(),
	}
	return f.put(f.past)
}

// system is what a new session of the program begins with. A member that has
// worked before with another agent has a past that no session of this one holds.
func (f *instance) system() string {
	text := f.System()
	if f.stranger {
		text += "\n" + f.brief()
	}
	return text
}

// makeUp is the brief for a session that takes the place of one that was lost;
// empty where system has given it.
func (f *instance) makeUp() string {
	if f.stranger {
		return ""
	}
	return f.brief()
}

// Bounds of a brief.
const (
	briefWait = 5 * time.Second // for the store
	briefText = 4000            // characters of what was said last
)

// brief tells a program whose session is lost what its member is in the middle
// of: the goal, its tasks, and what it said last.
func (f *instance) brief() string {
	ctx, cancel := context.WithTimeout(context.Background(), briefWait)
	defer cancel()
	var b strings.Builder
	b.WriteString("You have worked in this team before, and have no memory of it. What is known:\n")
	if goal := strings.TrimSpace(f.programs.opts.Goal()); goal != "" {
		b.WriteString("\nThe team's goal:\n" + notation.Clip(goal, briefText) + "\n")
	}
	all, err := f.programs.opts.Store.List(ctx)
	if err != nil {
		b.WriteString("\nThe task list could not be read; look at it before you go on.\n")
	}
	b.WriteString(briefTasks(all, f.Member.Name))
	if last := f.lastText(); last != "" {
		b.WriteString("\nWhat you said last:\n" + notation.Clip(last, briefText) + "\n")
	}
	b.WriteString("\nLook at the state of the files before you go on: work that you have begun may be in them.")
	return b.String()
}

// briefTasks lists a member's tasks with what is known of them.
func briefTasks(all []tasks.Task, member string) string {
	var b strings.Builder
	for _, t := range all {
		if t.Owner != member {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\nYour tasks:\n")
		}
		fmt.Fprintf(&b, "- #%s %s (%s)\n", t.ID, mail.Summary(agent.Defuse(notation.Unbroken(t.Subject))), t.Status)
		if t.Status == tasks.InProgress && t.Description != "" {
			b.WriteString("  " + strings.ReplaceAll(t.Description, "\n", "\n  ") + "\n")
		}
	}
	return b.String()
}

// lastText is what the member said last, in this run or before it.
func (f *instance) lastText() string {
	if text := f.Said(); text != "" {
		return text
	}
	return f.last
}

// lastSaid is the text of the last message of a conversation that a member
// wrote any text in.
func lastSaid(messages []agent.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == agent.Assistant && m.Text() != "" {
			return m.Text()
		}
	}
	return ""
}
