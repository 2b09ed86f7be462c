//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// The tasks of a team that is killed: the first are done by its workers by
// themselves, the others are fought for by the clients. A client acts for one of
// the hands, who do nothing but read.
const (
	crashWork  = 100
	crashFight = 150
)

var crashHands = []string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10", "h11"}

// crashFiles are the team's spec and scripts. Each task that a worker does sends
// one message to a hand, so that a task done twice, or a message sent twice, shows.
func crashFiles() map[string]string {
	var spec, worker strings.Builder
	spec.WriteString(`covey: 1
name: crash
goal: Live.
models:
  calm: {provider: script, script: calm.yaml}
  worker: {provider: script, script: worker.yaml}
lead: {model: calm}
teammates:
  w1: {model: worker, role: worker}
  w2: {model: worker, role: worker}
`)
	for _, hand := range crashHands {
		fmt.Fprintf(&spec, "  %s: {model: calm, role: hand, self_claim: false, limits: {max_in_progress: 500}}\n", hand)
	}
	spec.WriteString("tasks:\n")
	for id := range crashWork + crashFight {
		role := "worker"
		if id >= crashWork {
			role = "hand"
		}
		fmt.Fprintf(&spec, "  - {id: t%d, subject: %s, wants: {role: %s}}\n", id+1, role, role)
	}
	worker.WriteString("delay: 5ms\nsteps:\n")
	for id := 1; id <= crashWork; id++ {
		fmt.Fprintf(&worker, `  - when: '(?s)(claimed task|own open tasks.*) #?%[1]d\b|(?s)own open tasks.*#%[1]d\b'
    call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}},
      {tool: SendMessage, input: {to: h1, message: "mail work-%[1]d.", summary: done}}]
`, id)
	}
	worker.WriteString("  - {say: Fine., times: -1}\n")
	return map[string]string{
		"team.yaml": spec.String(), "worker.yaml": worker.String(), "calm.yaml": "steps: [{say: Read., times: -1}]\n",
	}
}

// crashClient makes calls one after another for one of the hands, and notes what
// came of each.
type crashClient struct {
	team      *crashTeam
	number    int
	member    string
	random    *rand.Rand
	byCommand bool // through `covey` as people do, not through a connection that stays
	client    *api.Client
	sent      int        // texts sent, whatever came of them
	mail      []sentMail // in order
	made      []string   // subjects of tasks whose making was acknowledged
	own       []string   // tasks that it believes to own
	answered  int
	unknown   int
}

// sentMail is a text that a client has sent to a hand.
type sentMail struct {
	to, key string
	result  callResult
}

// callResult is what a client knows of a call.
type callResult int

const (
	unknown callResult = iota // no answer came: it may or may not have happened
	accepted
	refused
)

// resultOf sorts what a call came back with.
func resultOf(err error) callResult {
	if err == nil {
		return accepted
	}
	no := []error{
		tasks.ErrOwned, tasks.ErrDone, tasks.ErrBusy, tasks.ErrStale, tasks.ErrTransition, tasks.ErrConflict, tasks.ErrFull,
	}
	if slices.ContainsFunc(no, func(e error) bool { return errors.Is(err, e) }) {
		return refused
	}
	return unknown
}

// dialCrash reaches a team that is about to start; nil: ctx ended before.
func dialCrash(ctx context.Context, p state.Place) *api.Client {
	for {
		c, err := api.Dial(ctx, p)
		if err == nil {
			return c
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// run makes calls until covey is dead. It says of each that was accepted.
func (c *crashClient) run(ctx context.Context, round int, accept func()) {
	if c.client = dialCrash(ctx, c.team.place); c.client == nil {
		return
	}
	defer c.client.Close()
	for ctx.Err() == nil {
		result := c.call(ctx, round)
		switch result {
		case unknown:
			c.unknown++
			return // covey is dead, or not yet to be reached
		case accepted:
			accept()
		}
		c.answered++
	}
}

// call makes one call. Claims are the most, and few tasks are fought for at once.
func (c *crashClient) call(ctx context.Context, round int) callResult {
	switch n := c.random.IntN(10); {
	case n < 4:
		return c.claim(ctx, strconv.Itoa(crashWork+1+round*4%(crashFight-12)+c.random.IntN(12)))
	case n < 6 && len(c.own) > 0:
		return c.giveUp(ctx, tasks.Completed)
	case n < 7 && len(c.own) > 0:
		return c.giveUp(ctx, tasks.Pending)
	case n < 8:
		return c.create(ctx)
	}
	return c.send(ctx)
}

func (c *crashClient) claim(ctx context.Context, id string) callResult {
	note := c.team.history.call(c.number, claimInput{task: id, op: claims, member: c.member})
	var err error
	if c.byCommand {
		err = c.command(ctx, "tasks", "claim", id, "--as", c.member)
	} else {
		_, err = c.client.ClaimTask(ctx, api.TaskClaim{ID: id, As: c.member})
	}
	result := resultOf(err)
	note(result)
	if result == accepted && !slices.Contains(c.own, id) {
		c.own = append(c.own, id)
	}
	return result
}

// giveUp completes or releases a task that the client believes to own.
func (c *crashClient) giveUp(ctx context.Context, status tasks.Status) callResult {
	i := c.random.IntN(len(c.own))
	id := c.own[i]
	c.own = slices.Delete(c.own, i, i+1)
	update := api.TaskUpdate{ID: id, Status: &status, As: c.member}
	op := completes
	if status == tasks.Pending {
		op = releases
		update.Owner = new(string)
	}
	note := c.team.history.call(c.number, claimInput{task: id, op: op, member: c.member})
	_, err := c.client.UpdateTask(ctx, update)
	result := resultOf(err)
	note(result)
	return result
}

func (c *crashClient) create(ctx context.Context) callResult {
	c.sent++
	subject := fmt.Sprintf("made %s-%d", c.member, c.sent)
	_, err := c.client.CreateTask(ctx, api.TaskCreate{Subject: subject, Wants: tasks.Wants{Role: "nobody"}})
	if err == nil {
		c.made = append(c.made, subject)
	}
	return resultOf(err)
}

func (c *crashClient) send(ctx context.Context) callResult {
	c.sent++
	m := sentMail{to: crashHands[c.random.IntN(len(crashHands))], key: fmt.Sprintf("%s-%d", c.member, c.sent)}
	text := "mail " + m.key + "."
	var err error
	if c.byCommand {
		err = c.command(ctx, "send", m.to, text)
	} else {
		_, err = c.client.Send(ctx, api.Send{To: m.to, Text: text})
	}
	m.result = resultOf(err)
	c.mail = append(c.mail, m)
	return m.result
}

// command runs covey as a person would. A command that fails may have had its
// effect, but for those that say why they were refused.
func (c *crashClient) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "covey", append([]string{"-C", c.team.dir}, args...)...)
	if program := os.Getenv(crashBinary); program != "" {
		cmd.Path = program
	}
	cmd.Env = c.team.env
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	for text, kind := range map[string]error{
		"belongs to": tasks.ErrOwned, "already completed": tasks.ErrDone, "unread messages": tasks.ErrFull,
	} {
		if strings.Contains(string(out), text) {
			return kind
		}
	}
	return fmt.Errorf("%w: %s", err, out)
}
