package api

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks"
)

// TestAfterNoNumber: a page after what is no task's id is refused.
func TestAfterNoNumber(t *testing.T) {
	if _, err := cutColumns(nil, TaskQuery{ID: "x"}); !errors.Is(err, tasks.ErrInvalid) {
		t.Errorf("a page after no number: %v", err)
	}
}

// TestColumns: what is put into columns comes out of them as it was, and columns that do
// not fit together are an error.
func TestColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[1-9][0-9]{0,3}`))
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) tasks.Outline {
			one := tasks.Outline{
				ID:      rapid.StringMatching(`[1-9][0-9]{0,3}`).Draw(t, "id"),
				Subject: rapid.String().Draw(t, "subject"),
				Status:  rapid.SampledFrom([]tasks.Status{tasks.Pending, tasks.Completed}).Draw(t, "status"),
				Owner:   rapid.SampledFrom([]string{"", "api", "pending"}).Draw(t, "owner"),
			}
			one.Cost.Tokens = rapid.SampledFrom([]int64{0, 0, 7}).Draw(t, "tokens")
			one.Cost.USD = rapid.SampledFrom([]float64{0, 0, 0.5}).Draw(t, "usd")
			if by := words.Draw(t, "blockers"); len(by) > 0 {
				one.BlockedBy = by
			}
			return one
		})).Draw(t, "tasks")
		c := columnsOf(want)
		have, err := c.rows()
		if err != nil || len(have) != len(want) || len(want) > 0 && !reflect.DeepEqual(have, want) {
			t.Fatalf("%+v became %+v, %v", want, have, err)
		}
		if len(want) == 0 {
			return
		}
		odd := *c
		place := rapid.IntRange(0, len(want)-1).Draw(t, "place")
		switch rapid.IntRange(0, 4).Draw(t, "fault") {
		case 0:
			odd.Subjects = odd.Subjects[1:]
		case 1:
			odd.Status = slices.Clone(odd.Status)
			odd.Status[place] = len(odd.Words)
		case 2:
			odd.Owner = slices.Clone(odd.Owner)
			odd.Owner[place] = -1
		case 3:
			odd.Blockers = slices.Clone(odd.Blockers)
			odd.Blockers[place]++
		case 4:
			odd.BlockedBy = append(slices.Clone(odd.BlockedBy), "1")
		}
		if have, err := odd.rows(); err == nil {
			t.Fatalf("%+v is read as %+v", odd, have)
		}
	})
}
