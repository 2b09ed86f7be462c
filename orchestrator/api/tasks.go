package api

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// The verbs about tasks.
var (
	VerbTasks    = forAll[TaskQuery, TaskPage[json.RawMessage]]("tasks")
	VerbTask     = forAll[TaskRef, tasks.Task]("task")
	VerbStanding = forAll[TaskRef, Standing]("standing")
	VerbCreate   = forMembers[TaskCreate, TaskReply]("task-create")
	VerbUpdate   = forMembers[TaskUpdate, TaskReply]("task-update")
	VerbClaim    = forMembers[TaskClaim, TaskReply]("task-claim")
)

// TaskCreate asks to create a task.
type TaskCreate struct {
	Subject     string                     `json:"subject"`
	Description string                     `json:"description,omitempty"`
	ActiveForm  string                     `json:"active_form,omitempty"`
	Owner       string                     `json:"owner,omitempty"`
	BlockedBy   []string                   `json:"blocked_by,omitempty"`
	Labels      []string                   `json:"labels,omitempty"`
	Wants       tasks.Wants                `json:"wants,omitzero"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	As          string                     `json:"as,omitempty"` // the member to act for; empty: the caller
	Force       bool                       `json:"force,omitempty"`
}

// Deleted is the status that deletes a task in a TaskUpdate.
const Deleted tasks.Status = "deleted"

// TaskUpdate asks to change a task. Nil and empty fields change nothing.
type TaskUpdate struct {
	ID           string                     `json:"id"`
	Status       *tasks.Status              `json:"status,omitempty"` // or Deleted
	Subject      *string                    `json:"subject,omitempty"`
	Description  *string                    `json:"description,omitempty"`
	ActiveForm   *string                    `json:"active_form,omitempty"`
	Owner        *string                    `json:"owner,omitempty"` // "" removes the owner
	AddBlocks    []string                   `json:"add_blocks,omitempty"`
	AddBlockedBy []string                   `json:"add_blocked_by,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"` // merged; null deletes a key
	Evidence     []tasks.Evidence           `json:"evidence,omitempty"` // added; the team sets By and Time
	As           string                     `json:"as,omitempty"`
	Force        bool                       `json:"force,omitempty"` // skips gates and limits; operator only
}

// TaskClaim asks to make a member the owner of a task and to start it.
type TaskClaim struct {
	ID    string `json:"id"`
	As    string `json:"as,omitempty"` // the new owner; a member may omit it
	Force bool   `json:"force,omitempty"`
}

// TaskReply is a task after a change.
type TaskReply struct {
	Task    tasks.Task `json:"task"`
	Changed []string   `json:"changed,omitempty"` // names of the fields that changed
	// Refused is the feedback of the hooks that refused the change; the task is
	// then unchanged.
	Refused []string `json:"refused,omitempty"`
	// Awaits names the answer that the change waits for; the task is then
	// unchanged, too.
	Awaits string `json:"awaits,omitempty"`
}

// Standing is the information about a task that is not in the task itself.
type Standing struct {
	Verdicts []requests.Verdict `json:"verdicts"` // of gates, without their logs
	Merges   []tasks.Merge      `json:"merges"`   // the pieces of its work, oldest first
	Requests []requests.Request `json:"requests"` // open questions about it
}

// TaskRef names a task.
type TaskRef struct {
	ID string `json:"id"`
}

// ListTasks makes the function that answers VerbTasks from two that list all
// tasks and all outlines.
func ListTasks(
	whole func(context.Context) ([]tasks.Task, error), outlines func(context.Context) ([]tasks.Outline, error),
) func(context.Context, TaskQuery) (TaskPage[json.RawMessage], error) {
	return func(ctx context.Context, r TaskQuery) (page TaskPage[json.RawMessage], err error) {
		if !r.Outline {
			all, err := whole(ctx)
			if err != nil {
				return page, err
			}
			return cutTasks(all, r)
		}
		all, err := outlines(ctx)
		if err != nil {
			return page, err
		}
		return cutColumns(all, r)
	}
}

func (r TaskCreate) onBehalf() (string, bool) { return r.As, r.Force }
func (r TaskUpdate) onBehalf() (string, bool) { return r.As, r.Force }
func (r TaskClaim) onBehalf() (string, bool)  { return r.As, r.Force }

func (r TaskCreate) inNameOf(member string) TaskCreate { r.As = member; return r }
func (r TaskUpdate) inNameOf(member string) TaskUpdate { r.As = member; return r }
func (r TaskClaim) inNameOf(member string) TaskClaim   { r.As = member; return r }

// Tasks lists all tasks in list order.
func (c *Client) Tasks(ctx context.Context) ([]tasks.Task, error) {
	return pages(ctx, c, TaskQuery{}, func(t *tasks.Task) string { return t.ID })
}

// Outline lists the outlines of all tasks, which is many times as fast as Tasks
// for a long list.
func (c *Client) Outline(ctx context.Context) ([]tasks.Outline, error) {
	r := TaskQuery{Outline: true}
	return pages(ctx, c, r, func(t *tasks.Outline) string { return t.ID })
}

// pages reads all pages of a task list.
func pages[T any](ctx context.Context, c *Client, r TaskQuery, id func(*T) string) ([]T, error) {
	all := []T{}
	for {
		page, err := ask(ctx, c, Verb[TaskQuery, TaskPage[T]](VerbTasks), r)
		if err != nil {
			return nil, err
		}
		list, err := page.List()
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if !page.More || len(list) == 0 {
			return all, nil
		}
		r.ID = id(&list[len(list)-1])
	}
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id string) (tasks.Task, error) {
	return ask(ctx, c, VerbTask, TaskRef{ID: id})
}

// CreateTask creates a task. If hooks refuse it, the reply says so.
func (c *Client) CreateTask(ctx context.Context, req TaskCreate) (TaskReply, error) {
	return ask(ctx, c, VerbCreate, req)
}

// UpdateTask changes a task. If hooks refuse the change, the reply says so.
func (c *Client) UpdateTask(ctx context.Context, req TaskUpdate) (TaskReply, error) {
	return ask(ctx, c, VerbUpdate, req)
}

// ClaimTask makes a member the owner of a task.
func (c *Client) ClaimTask(ctx context.Context, req TaskClaim) (TaskReply, error) {
	return ask(ctx, c, VerbClaim, req)
}

// Standing returns the standing of a task.
func (c *Client) Standing(ctx context.Context, task string) (Standing, error) {
	return ask(ctx, c, VerbStanding, TaskRef{ID: task})
}
