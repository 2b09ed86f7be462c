package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/tasks"
)

// VerdictReused is sent when a gate was not run, because it has said yes to the very
// same files before.
type VerdictReused struct {
	Task    string    `json:"task"`
	Command string    `json:"command"`
	Tree    string    `json:"tree"`   // git's name of the files
	Judged  time.Time `json:"judged"` // when the gate said so
}

// EventType is the journal's name for it.
func (VerdictReused) EventType() string { return "verdict_reused" }

// merge queues what a person asks for, and merges it if the team runs.
func (d *mergeDesk) merge(ctx context.Context, r api.MergeRequest) (api.MergeReply, error) {
	if d == nil {
		return api.MergeReply{}, errors.New(
			"the workspace is no git repository, so there is nothing to merge")
	}
	if r.Member != "" || r.All {
		if err := d.takeLoose(ctx, r); err != nil {
			return api.MergeReply{}, err
		}
	}
	asked, err := d.queue.Request(ctx, string(process.Operator), r.Wants)
	if err == nil && len(asked) == 0 {
		whose := ""
		if !r.All {
			whose = " of " + r.String()
		}
		err = wording.Errorf(tasks.ErrNotFound, "no finished work%s waits to be merged; covey review lists what there is", whose)
	}
	if err == nil {
		err = d.look(ctx)
	}
	d.poke()
	if err == nil && r.Wait {
		asked, err = d.await(ctx, asked)
	}
	return api.MergeReply{Merges: asked}, err
}

// await waits until none of some merges is on its way any more.
func (d *mergeDesk) await(ctx context.Context, asked []tasks.Merge) ([]tasks.Merge, error) {
	for {
		d.mu.Lock()
		moved, fault := d.moved, d.fault
		d.mu.Unlock()
		now, err := d.again(ctx, asked)
		if err != nil || fault != nil || !slices.ContainsFunc(now, func(m tasks.Merge) bool { return m.State.Busy() }) {
			return now, errors.Join(err, fault)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}

// again reads merges as they are now.
func (d *mergeDesk) again(ctx context.Context, asked []tasks.Merge) ([]tasks.Merge, error) {
	all, err := d.c.store.Merges().List(ctx)
	var now []tasks.Merge
	for _, m := range all {
		if slices.ContainsFunc(asked, func(a tasks.Merge) bool { return a.ID == m.ID }) {
			now = append(now, m)
		}
	}
	return now, err
}

// atMerge merges what a run is only for, and ends it.
func (c *crew) atMerge(ctx context.Context) (plan.Move, error) {
	r := *c.mergeOnly
	r.Wait = false
	asked, err := c.merges.merge(ctx, r)
	if err != nil || c.merges == nil {
		return plan.Move{}, err
	}
	if err := c.merges.queue.Work(ctx); err != nil {
		return plan.Move{}, fmt.Errorf("merge: %w", err)
	}
	done, err := c.merges.again(ctx, asked.Merges)
	c.merges.o.only.merged(done)
	return plan.Move{Kind: plan.Finish, Done: true, Reason: "merged " + r.String()}, err
}

// mergesOnly is what a run is only there to merge; empty: it is one of the team.
func (o *Orchestrator) mergesOnly() string {
	if o.only.merge == nil {
		return ""
	}
	return o.only.merge.String()
}

// owesMerges reports whether finished work is to be merged without being asked for
// once more.
func owesMerges(ctx context.Context, s *tasks.Store) bool {
	list, err := s.Merges().List(ctx)
	return err == nil && slices.ContainsFunc(list, func(m tasks.Merge) bool {
		return m.State.Busy() || m.State == tasks.MergeHeld
	})
}

// takeLoose takes down what lies in working copies of members that rest.
func (d *mergeDesk) takeLoose(ctx context.Context, r api.MergeRequest) error {
	for _, s := range d.c.seats() {
		if r.Member != "" && s.member.Name != r.Member {
			continue
		}
		copy, ok, err := d.copyOf(ctx, s)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if !d.c.rests(s) {
			if r.Member != "" {
				return fmt.Errorf("%s is in a turn; what it has made so far is taken when it rests, "+
					"or run covey merge with a task that is done", s.member.Name)
			}
			continue
		}
		d.taking.Lock()
		_, err = d.queue.Harvest(ctx, merging.Work{Member: s.member.Name, Copy: copy}, true)
		d.taking.Unlock()
		if err != nil {
			return fmt.Errorf("the work of %s: %w", s.member.Name, err)
		}
	}
	return nil
}

// rests reports whether a member is in no turn.
func (c *crew) rests(s *seat) bool {
	now := s.life.State()
	return now.Idle || now.Gone != "" || !now.Begun
}
