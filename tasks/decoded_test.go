package tasks

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
)

// manyTasks puts n tasks into a store, of which a third wait for another one.
func manyTasks(tb testing.TB, s *Store, n int) {
	tb.Helper()
	const chunk = 1000
	for done := 0; done < n; done += chunk {
		var list []New
		for i := done; i < min(done+chunk, n); i++ {
			task := New{
				Key: fmt.Sprint("k", i), Subject: fmt.Sprint("Add the endpoint ", i),
				Description: "GET /changelog with paging and an ETag",
			}
			if i > done && i%3 == 0 {
				task.BlockedBy = []string{fmt.Sprint("k", i-1)}
			}
			list = append(list, task)
		}
		if _, err := s.Add(tb.Context(), actors.Actor{}, list); err != nil {
			tb.Fatal(err)
		}
	}
	drain(tb, s)
}

// TestListDecodesWhatChanged: a read of all tasks decodes only the records that changed
// since the last one, and has all that did.
func TestListDecodesWhatChanged(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	manyTasks(t, s, 30)
	list := func(decodes int64) []Task {
		t.Helper()
		before := s.decoded.made.Load()
		all := ok1(t)(s.List(t.Context()))
		if n := s.decoded.made.Load() - before; n != decodes {
			t.Errorf("%d records were decoded, want %d", n, decodes)
		}
		for _, one := range all { // which is read alone
			if same := get(t, s, one.ID); !reflect.DeepEqual(one, same) {
				t.Errorf("in the list\n%+v\nalone\n%+v", one, same)
			}
		}
		return all
	}
	list(30)
	list(0)
	subject := "Something else"
	_, _, err := s.Update(t.Context(), actors.Actor{}, "7", Patch{Subject: &subject})
	testkit.Must(t, err)
	if all := list(1); all[6].Subject != subject {
		t.Errorf("task 7 is %+v", all[6])
	}
	// Task 3 goes away, and with it what blocks task 4.
	_, err = s.Delete(t.Context(), actors.Actor{}, "3", nil)
	testkit.Must(t, err)
	if all := list(1); len(all) != 29 || all[2].ID != "4" || len(all[2].BlockedBy) != 0 {
		t.Errorf("%d tasks, the third is %+v", len(all), all[2])
	}
	ok1(t)(s.Add(t.Context(), actors.Actor{}, []New{{Subject: "The last", BlockedBy: []string{"30"}}}))
	if all := list(1); all[28].Blocks[0] != "31" || all[29].Subject != "The last" {
		t.Errorf("the last two are %+v", all[28:])
	}
}

// TestListIsTheCallers: what callers do to their list is not in the next one.
func TestListIsTheCallers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	ok1(t)(s.Add(t.Context(), actors.Actor{}, []New{
		{Key: "a", Subject: "First"},
		{
			Key: "b", Subject: "Second", BlockedBy: []string{"a"}, Labels: []string{"one"},
			Wants:    Wants{Tools: []string{"Bash"}, Labels: []string{"two"}},
			Metadata: map[string]json.RawMessage{"k": json.RawMessage(`"v"`)},
		},
		{Key: "c", Subject: "Third", BlockedBy: []string{"b"}},
	}))
	_, _, err := s.Update(t.Context(), actors.Actor{}, "2", Patch{Evidence: []Evidence{{Text: "it runs"}}})
	testkit.Must(t, err)
	want := ok1(t)(s.List(t.Context()))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // the race detector sees what they share
			all, err := s.List(t.Context())
			if err != nil || len(all) != 3 {
				t.Errorf("%d tasks, %v", len(all), err)
				return
			}
			m := &all[1]
			m.Metadata["k"][1], m.Metadata["other"] = 'X', nil
			for _, list := range [][]string{m.Blocks, m.BlockedBy, m.Labels, m.Wants.Tools, m.Wants.Labels} {
				list[0] = "X"
			}
			m.Evidence[0].Text = "X"
		})
	}
	wg.Wait()
	if have := ok1(t)(s.List(t.Context())); !reflect.DeepEqual(have, want) {
		t.Errorf("the list is\n%+v\nwant\n%+v", have, want)
	}
}

// BenchmarkList reads 8,000 tasks of which none has changed since the last read; Decode is
// what a read costs that finds nothing decoded, Outline one of outlines alone.
func BenchmarkList(b *testing.B) {
	s := open(b, nil)
	manyTasks(b, s, 8000)
	for name, prepare := range map[string]func(){
		"Same":   func() {},
		"Decode": func() { s.decoded.last.Store(nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				prepare()
				if list, err := s.List(b.Context()); err != nil || len(list) != 8000 {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Outline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if list, err := s.Outline(b.Context()); err != nil || len(list) != 8000 {
				b.Fatal(err)
			}
		}
	})
}
