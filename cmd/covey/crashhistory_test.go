//go:build unix

package main

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// claimOp is what a client does with a task.
type claimOp int

const (
	claims claimOp = iota
	completes
	releases
	reads // of the store between two lives of covey
)

// claimInput is one call.
type claimInput struct {
	task   string
	op     claimOp
	member string
}

// claimState is a task as claims see it; also what a read finds.
type claimState struct {
	owner string
	done  bool
}

// claimOutput is what came of a call.
type claimOutput struct {
	result callResult
	found  claimState // of a read
}

// claimModel is what one task does, called by one client after another. An
// unknown outcome fits everywhere: the call has happened if it could, and one that
// has not happened can be put behind all others, because it never returns.
func claimModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return claimState{} },
		Step: func(state, input, output any) (bool, any) {
			was, in, out := state.(claimState), input.(claimInput), output.(claimOutput)
			if in.op == reads {
				return out.found == was, was
			}
			can, next := was.after(in)
			switch out.result {
			case accepted:
				return can, next
			case refused:
				return !can, was
			}
			if can {
				return true, next
			}
			return true, was
		},
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			of := map[string][]porcupine.Operation{}
			for _, op := range all {
				id := op.Input.(claimInput).task
				of[id] = append(of[id], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range of {
				parts = append(parts, part)
			}
			return parts
		},
	}
}

// after says whether a call can happen to a task, and how the task is then.
func (s claimState) after(in claimInput) (bool, claimState) {
	switch {
	case s.done:
		return false, s
	case in.op == claims:
		return s.owner == "" || s.owner == in.member, claimState{owner: in.member}
	case s.owner != in.member:
		return false, s
	case in.op == completes:
		return true, claimState{owner: in.member, done: true}
	}
	return true, claimState{}
}

// claimHistory notes when each call began and returned. It is safe for concurrent
// use.
type claimHistory struct {
	begun time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
}

func newClaimHistory() *claimHistory { return &claimHistory{begun: time.Now()} }

// call notes that a call begins; the function that it gives notes what came of it.
func (h *claimHistory) call(client int, in claimInput) func(callResult) {
	call := time.Since(h.begun).Nanoseconds()
	return func(result callResult) {
		end := time.Since(h.begun).Nanoseconds()
		if result == unknown {
			end = math.MaxInt64
		}
		h.add(porcupine.Operation{
			ClientId: client, Input: in, Call: call, Output: claimOutput{result: result}, Return: end,
		})
	}
}

// read notes how a task was found while covey did not run.
func (h *claimHistory) read(task string, found claimState) {
	now := time.Since(h.begun).Nanoseconds()
	h.add(porcupine.Operation{
		ClientId: len(crashHands), Input: claimInput{task: task, op: reads}, Call: now,
		Output: claimOutput{found: found}, Return: now,
	})
}

func (h *claimHistory) add(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// judge says whether some order of the calls explains all that came of them.
func (h *claimHistory) judge() porcupine.CheckResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	return porcupine.CheckOperationsTimeout(claimModel(), h.ops, time.Minute)
}

// forged is the history with a second owner of the first task whose claim was
// accepted: that one is claimed for somebody else while its owner has it.
func (h *claimHistory) forged() *claimHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	lie := newClaimHistory()
	for _, op := range h.ops {
		lie.ops = append(lie.ops, op)
		in := op.Input.(claimInput)
		if len(lie.ops) > len(h.ops) || in.op != claims || op.Output.(claimOutput).result != accepted ||
			lie.forgedAlready() {
			continue
		}
		in.member = "thief"
		lie.ops = append(lie.ops, porcupine.Operation{
			ClientId: len(crashHands) + 1, Input: in, Call: op.Return + 1, Output: op.Output, Return: op.Return + 2,
		})
	}
	return lie
}

func (h *claimHistory) forgedAlready() bool {
	for _, op := range h.ops {
		if op.Input.(claimInput).member == "thief" {
			return true
		}
	}
	return false
}

// TestCrashHistory holds the judge to what it must let pass and what it must not:
// a judge that never finds fault would let every crash pass.
func TestCrashHistory(t *testing.T) {
	claim := func(member string) claimInput { return claimInput{task: "1", op: claims, member: member} }
	step := func(in claimInput, result callResult) func(*claimHistory) {
		return func(h *claimHistory) { h.call(0, in)(result) }
	}
	found := func(s claimState) func(*claimHistory) {
		return func(h *claimHistory) { h.read("1", s) }
	}
	complete := claimInput{task: "1", op: completes, member: "a"}
	release := claimInput{task: "1", op: releases, member: "a"}
	for name, tc := range map[string]struct {
		steps []func(*claimHistory)
		want  porcupine.CheckResult
	}{
		"one owner":           {[]func(*claimHistory){step(claim("a"), accepted), step(claim("b"), refused)}, porcupine.Ok},
		"two owners":          {[]func(*claimHistory){step(claim("a"), accepted), step(claim("b"), accepted)}, porcupine.Illegal},
		"one after the other": {[]func(*claimHistory){step(claim("a"), accepted), step(release, accepted), step(claim("b"), accepted)}, porcupine.Ok},
		"after it was done":   {[]func(*claimHistory){step(claim("a"), accepted), step(complete, accepted), step(claim("b"), accepted)}, porcupine.Illegal},
		"kept":                {[]func(*claimHistory){step(claim("a"), accepted), found(claimState{owner: "a"})}, porcupine.Ok},
		"lost": {[]func(*claimHistory){step(claim("a"), accepted), found(claimState{})},
			porcupine.Illegal},
		"unknown and lost": {[]func(*claimHistory){step(claim("a"), unknown), found(claimState{})},
			porcupine.Ok},
		"unknown and kept":    {[]func(*claimHistory){step(claim("a"), unknown), found(claimState{owner: "a"})}, porcupine.Ok},
		"refused for nothing": {[]func(*claimHistory){step(claim("a"), refused)}, porcupine.Illegal},
	} {
		h := newClaimHistory()
		for _, s := range tc.steps {
			s(h)
			time.Sleep(time.Microsecond) // the clock moves between two calls of one client
		}
		if got := h.judge(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
