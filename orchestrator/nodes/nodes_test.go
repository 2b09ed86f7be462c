package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// number returns a body with a number and some size.
func number(i, size int) json.RawMessage {
	return fmt.Appendf(nil, `{"i":%d,"text":"%s"}`, i, strings.Repeat("x", size))
}

func numberOf(t *testing.T, body json.RawMessage) int {
	var v struct{ I int }
	if err := json.Unmarshal(body, &v); err != nil {
		t.Error(err)
	}
	return v.I
}

// TestOnce: over a wire that loses every third packet, each request and each order is carried out
// once and answered, and all reports arrive in order, each once.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		s.cable.loses = 0.33
		const n = 100
		var asked, ordered [n]atomic.Int32
		var reported []int
		s.ask = func(_ context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error) {
			if node != "big" || member != "dev" || method != "claim" {
				t.Errorf("%s %s %s", node, member, method)
			}
			i := numberOf(t, in)
			asked[i].Add(1)
			if i%10 == 3 {
				return nil, fmt.Errorf("no %d: %w", i, errKnown)
			}
			return in, nil
		}
		s.order = func(_ context.Context, member, method string, in json.RawMessage) (json.RawMessage, error) {
			ordered[numberOf(t, in)].Add(1)
			return in, nil
		}
		s.take = func(_ context.Context, _ string, _ uint64, _ string, body json.RawMessage) error {
			reported = append(reported, numberOf(t, body))
			return nil
		}
		h, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		<-l.Met()
		var group sync.WaitGroup
		for i := range n {
			body := number(i, i%20/19*900_000) // some need several packets
			group.Go(func() {
				out, err := l.Ask(t.Context(), "dev", "claim", body)
				switch {
				case i%10 == 3:
					if !errors.Is(err, errKnown) || err.Error() != fmt.Sprintf("no %d: a known error", i) {
						t.Errorf("request %d: %v", i, err)
					}
				case err != nil || !bytes.Equal(out, body):
					t.Errorf("request %d: %d bytes, %v", i, len(out), err)
				}
			})
			group.Go(func() {
				if out, err := h.Order(t.Context(), "big", "dev", "go", number(i, 0)); err != nil || numberOf(t, out) != i {
					t.Errorf("order %d: %s, %v", i, out, err)
				}
			})
			if err := l.Report(t.Context(), "dev", number(i, 0)); err != nil {
				t.Error(err)
			}
		}
		group.Wait()
		if err := l.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		for i := range n {
			if asked[i].Load() != 1 || ordered[i].Load() != 1 {
				t.Errorf("request %d was carried out %d times, order %d %d times", i, asked[i].Load(), i, ordered[i].Load())
			}
		}
		synctest.Wait()
		if len(reported) != n || !slices.IsSorted(reported) {
			t.Errorf("reports: %v", reported)
		}
	})
}

// TestLongRequest: a request that waits for long does not keep others from being carried out, and ends
// with its sender's patience.
func TestLongRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		ended := make(chan struct{})
		s.ask = func(ctx context.Context, _, _, method string, _ json.RawMessage) (json.RawMessage, error) {
			if method == "wait" {
				<-ctx.Done()
				close(ended)
			}
			return nil, ctx.Err()
		}
		_, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		got := make(chan error)
		go func() {
			_, err := l.Ask(ctx, "dev", "wait", nil)
			got <- err
		}()
		for range 10 * requestsOf(2) {
			if _, err := l.Ask(t.Context(), "dev", "claim", nil); err != nil {
				t.Fatal(err)
			}
		}
		cancel(why)
		if err := <-got; !errors.Is(err, why) {
			t.Error(err)
		}
		<-ended
	})
}

// TestTooLarge: what is too large is refused where it is made.
func TestTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		huge := number(0, maxBody)
		s.ask = func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
			return huge, nil
		}
		_, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		if _, err := l.Ask(t.Context(), "dev", "claim", huge); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if err := l.Report(t.Context(), "dev", huge); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if _, err := l.Ask(t.Context(), "dev", "claim", nil); err == nil || err.Error() != ErrTooLarge.Error() {
			t.Error(err)
		}
	})
}

// TestCoordinators: a request that waits is answered by the next coordinator, and from then on a node
// takes nothing from the earlier one, not even after a restart.
func TestCoordinators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		var taken []string
		s.order = func(_ context.Context, _, method string, _ json.RawMessage) (json.RawMessage, error) {
			taken = append(taken, method)
			return nil, nil
		}
		s.ask = func(ctx context.Context, _, _, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done() // the first coordinator never answers
			return nil, ctx.Err()
		}
		old, endOld := s.coordinator(4)
		defer endOld()
		l, endNode := s.node("big")
		<-l.Met()
		if _, err := old.Order(t.Context(), "big", "dev", "first", nil); err != nil {
			t.Error(err)
		}
		got := make(chan string)
		go func() {
			out, err := l.Ask(t.Context(), "dev", "claim", nil)
			got <- fmt.Sprint(string(out), err)
		}()
		synctest.Wait()
		s.ask = func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"new"`), nil
		}
		newer, endNew := s.coordinator(5)
		defer endNew()
		if out := <-got; out != `"new"<nil>` || l.Epoch() != 5 {
			t.Errorf("%s, epoch %d", out, l.Epoch())
		}
		late := func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := old.Order(ctx, "big", "dev", "late", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		late()
		_ = endNode()
		l, endNode = s.node("big")
		defer endNode()
		<-l.Met()
		synctest.Wait() // both coordinators know of the restart
		late()
		if _, err := newer.Order(t.Context(), "big", "dev", "second", nil); err != nil {
			t.Error(err)
		}
		if !slices.Equal(taken, []string{"first", "second"}) {
			t.Error(taken)
		}
	})
}

// TestSilence: a node is away after 30 s and lost after 60 s, then it carries nobody; and it is here
// again with its first sign of life.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		h, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		<-l.Met()
		_, gone, _, err := h.Seat(t.Context(), "dev", nil)
		if err != nil {
			t.Fatal(err)
		}
		isGone := func() bool {
			select {
			case <-gone:
				return true
			default:
				return false
			}
		}
		if state := s.state(); state != Here {
			t.Error(state)
		}
		s.cable.sever("big", true)
		time.Sleep(25 * time.Second)
		s.cable.sever("big", false)
		time.Sleep(5 * time.Second)
		if state := s.state(); state != "" {
			t.Errorf("after 25 s of silence: %s", state)
		}
		s.cable.sever("big", true)
		time.Sleep(33 * time.Second)
		if state := s.state(); state != Away || isGone() || h.Nodes()[0].State != Away {
			t.Errorf("after 33 s of silence: %s, gone: %v", state, isGone())
		}
		time.Sleep(30 * time.Second)
		if state := s.state(); state != Lost || !isGone() || len(h.Nodes()[0].Members) != 0 {
			t.Errorf("after 63 s of silence: %s, gone: %v", state, isGone())
		}
		if _, err := h.Order(t.Context(), "big", "dev", "go", nil); !errors.Is(err, ErrGone) {
			t.Error(err)
		}
		if silent := l.Silent(); silent < 60*time.Second {
			t.Error(silent)
		}
		s.cable.sever("big", false)
		time.Sleep(3 * time.Second)
		if state := s.state(); state != Here {
			t.Error(state)
		}
		if _, err := h.Order(t.Context(), "big", "dev", "go", nil); err != nil {
			t.Error(err)
		}
	})
}

// TestOrderToLostNode: who waits for the answer of a node learns that it is gone.
func TestOrderToLostNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		h, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		<-l.Met()
		_ = endNode()
		if _, err := h.Order(t.Context(), "big", "dev", "go", nil); !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	})
}

// TestRestart: a node that is started anew carries nobody, its reports are still there, and it cannot
// run twice.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		var got []int
		s.take = func(_ context.Context, _ string, _ uint64, _ string, body json.RawMessage) error {
			got = append(got, numberOf(t, body))
			return nil
		}
		h, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		<-l.Met()
		_, gone, release, err := h.Seat(t.Context(), "dev", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if err := l.Report(t.Context(), "dev", number(i, 0)); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		s.cable.sever("big", true)
		for i := range 3 {
			if err := l.Report(t.Context(), "dev", number(3+i, 0)); err != nil {
				t.Error(err)
			}
		}
		if _, err := NewLink(s.cable, LinkConfig{Team: "crew", Profile: Profile{Name: "big"}, Dir: s.dirs["big"]}); !errors.Is(err, ErrTaken) {
			t.Error(err)
		}
		_ = endNode()
		s.cable.sever("big", false)
		l, endNode = s.node("big")
		defer endNode()
		<-l.Met()
		<-gone
		release() // of the earlier process, so it frees no place of this one
		if err := l.Report(t.Context(), "dev", number(6, 0)); err != nil {
			t.Error(err)
		}
		if err := l.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
			t.Error(got)
		}
		if state := s.state(); state != Left {
			t.Error(state)
		}
	})
}

// TestReportsNotStored: a report that the coordinator cannot store comes again.
func TestReportsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		var tries, stored int
		s.take = func(context.Context, string, uint64, string, json.RawMessage) error {
			if tries++; tries <= 3 {
				return errors.New("the disk is full")
			}
			stored++
			return nil
		}
		_, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		s.store.fail(errors.New("the disk is full"))
		for i := range 3 {
			if err := l.Report(t.Context(), "dev", number(i, 0)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		if l.spool.empty() || stored != 3 {
			t.Errorf("acknowledged before it was stored: %d", stored)
		}
		s.store.fail(nil)
		if err := l.Leave(t.Context()); err != nil || stored != 3 {
			t.Errorf("%d, %v", stored, err)
		}
	})
}

// TestRefused: nodes of another format, nodes that the team does not take, and a second host with the
// same name are refused, with the reason.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big", "stranger", "old")
		_, endHub := s.coordinator(3)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		<-l.Met()
		refused := func(want error, text string, end func() error) {
			t.Helper()
			time.Sleep(5 * time.Second)
			if err := end(); !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), text) {
				t.Error(err)
			}
		}
		_, end := s.node("stranger")
		refused(ErrRefused, "the spec has no node stranger", end)
		s.dirs["big"] = t.TempDir()
		_, end = s.node("big")
		refused(ErrTaken, "another host is node big", end)

		var r receiver
		var answer message
		stop, _ := s.cable.Listen(Subject("crew", "old", "inbox"), func(_ string, data []byte) { answer, _ = r.add(data) })
		defer stop()
		packet := append([]byte{0, 0, 0, 1, 0, 0, 1}, `{"format":0,"process":"P","disk":"D","body":{"version":"0.9"}}`...)
		for range 2 {
			if err := s.cable.Publish(Subject("crew", "old", "beat"), packet); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if answer.Fault == nil || answer.Fault.Code != "format" || !strings.Contains(answer.Fault.Text, "node old runs covey 0.9, and the coordinator covey 1;") {
			t.Errorf("%+v %+v", answer, answer.Fault)
		}
		if len(s.refused) != 3 || !strings.HasPrefix(s.refused[2], "node old is refused: ") || !strings.Contains(s.refused[2], "use the same on both") {
			t.Errorf("the coordinator has told %q", s.refused)
		}
		if l.Silent() > 3*time.Second {
			t.Error("the first node suffers from the others")
		}
	})
}

// TestSeat: members go where their labels are and places are free, back to where they sat, and
// elsewhere once that node is lost.
func TestSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "a", "b")
		h, endHub := s.coordinator(1)
		a, endA := s.node("a", "gpu", "linux")
		<-a.Met()
		type placed struct {
			name    string
			release func()
		}
		early := make(chan placed, 2)
		for _, member := range []string{"e1", "e2"} {
			go func() {
				name, _, release, _ := h.Seat(t.Context(), member, []string{"linux"})
				early <- placed{name, release}
			}()
		}
		synctest.Wait()
		b, endB := s.node("b", "linux")
		<-b.Met()
		one, two := <-early, <-early
		if one.name == two.name {
			t.Errorf("the node that was heard first, %s, gets all", one.name)
		}
		one.release()
		two.release()
		seat := func(h *Hub, member string, labels ...string) string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			name, _, _, _ := h.Seat(ctx, member, labels)
			return name
		}
		for _, c := range []struct{ member, label, want string }{
			{"m1", "linux", "a"}, {"m2", "linux", "b"}, {"m3", "gpu", "a"}, {"m4", "gpu", ""}, {"m5", "b", "b"}, {"m6", "linux", ""},
		} {
			if got := seat(h, c.member, c.label); got != c.want {
				t.Errorf("%s sits on %q, not %q", c.member, got, c.want)
			}
		}
		endHub()
		_ = endA()
		h, endHub = s.coordinator(2)
		defer endHub()
		time.Sleep(3 * time.Second)
		if got := seat(h, "m2", "linux"); got != "b" {
			t.Errorf("m2 went to %q", got)
		}
		if got := seat(h, "m1", "linux"); got != "" {
			t.Errorf("m1 has not waited for its node, and sits on %q", got)
		}
		time.Sleep(time.Minute)
		if got := seat(h, "m1", "linux"); got != "b" {
			t.Errorf("m1 sits on %q after its node was lost", got)
		}
		b.Drain()
		waiting := make(chan string)
		go func() {
			name, _, _, _ := h.Seat(t.Context(), "m7", []string{"linux"})
			waiting <- name
		}()
		_, endA = s.node("a", "linux")
		defer endA()
		if got := <-waiting; got != "a" {
			t.Errorf("m7 sits on %q", got)
		}
		_ = endB()
	})
}

// TestChoose: a member gets a node that suits and has a free place, the same for each order of the
// list, and waits only if there is none or its own may come back.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"gpu", "linux", "a", "b"}), rapid.ID)
		list := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Candidate {
			here := rapid.Bool().Draw(t, "here")
			return Candidate{
				Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"), Labels: labels.Draw(t, "labels"),
				Free: rapid.IntRange(0, 3).Draw(t, "free"), Here: here, Known: here || rapid.Bool().Draw(t, "known"),
			}
		}), 0, 4, func(c Candidate) string { return c.Name }).Draw(t, "nodes")
		want, before := labels.Draw(t, "want"), rapid.SampledFrom([]string{"", "a", "b", "z"}).Draw(t, "before")
		got := Choose(want, before, list)
		mixed := rapid.Permutation(list).Draw(t, "mixed")
		if other := Choose(want, before, mixed); other != got {
			t.Fatalf("%q and %q by order", got, other)
		}
		for _, c := range list {
			usable := c.suits(want) && c.Here && c.Free > 0
			switch {
			case c.Name == got && !usable:
				t.Fatalf("%+v was chosen", c)
			case c.Name == before && usable && got != before:
				t.Fatalf("it does not go back to %+v, but to %q", c, got)
			case usable && got == "" && !slices.ContainsFunc(list, func(o Candidate) bool { return o.Name == before && !o.Here && o.Known && o.suits(want) }):
				t.Fatalf("it waits beside %+v", c)
			case usable && got != "" && got != before && !c.less(list, got):
				t.Fatalf("%+v is better than %q", c, got)
			}
		}
	})
}

// less reports whether a candidate is no better than the one with a name.
func (c Candidate) less(list []Candidate, name string) bool {
	o := list[slices.IndexFunc(list, func(o Candidate) bool { return o.Name == name })]
	return o.Free > c.Free || o.Free == c.Free && o.Name <= c.Name
}

// TestBounds: a node that asks for too much at once does not keep another one waiting.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "greedy", "small")
		var running atomic.Int32
		s.ask = func(ctx context.Context, node, _, _ string, _ json.RawMessage) (json.RawMessage, error) {
			if node == "greedy" {
				running.Add(1)
				<-ctx.Done()
			}
			return nil, ctx.Err()
		}
		_, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("greedy")
		defer endNode()
		<-l.Met()
		l.requests.places = make(chan struct{}, 10*requestsOf(2)) // it does not hold itself to its own bound
		for range 10 * requestsOf(2) {
			go l.Ask(t.Context(), "dev", "wait", nil) //nolint:errcheck // it ends with the test
		}
		small, endSmall := s.node("small")
		defer endSmall()
		if _, err := small.Ask(t.Context(), "dev", "claim", nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := int(running.Load()); n != requestsOf(2) {
			t.Errorf("%d requests of one node run", n)
		}
	})
}

// TestCuts: through 30 cuts, restarts of nodes and changes of the coordinator, no report is lost, none
// comes in another order, and each request is answered.
func TestCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		luck := rand.New(rand.NewPCG(7, 7))
		names := []string{"a", "b", "c"}
		s := newSite(t, names...)
		var mu sync.Mutex
		got := map[string][]int{}
		s.take = func(ctx context.Context, node string, _ uint64, _ string, body json.RawMessage) error {
			mu.Lock()
			defer mu.Unlock()
			if i, list := numberOf(t, body), got[node]; len(list) == 0 || list[len(list)-1] != i { // a coordinator's end may double the last one
				got[node] = append(list, i)
			}
			return nil
		}
		s.ask = func(_ context.Context, _, _, _ string, in json.RawMessage) (json.RawMessage, error) { return in, nil }
		epoch := uint64(1)
		_, endHub := s.coordinator(epoch)
		links, ends, sent := map[string]*Link{}, map[string]func() error{}, map[string]int{}
		for _, n := range names {
			links[n], ends[n] = s.node(n)
		}
		var asking sync.WaitGroup
		for cut := range 30 {
			n := names[luck.IntN(len(names))]
			s.cable.sever(n, true)
			for _, other := range names {
				for range luck.IntN(20) {
					if err := links[other].Report(t.Context(), "dev", number(sent[other], 0)); err != nil {
						t.Error(err)
					}
					sent[other]++
				}
			}
			switch cut % 3 {
			case 0:
				_ = ends[n]()
				links[n], ends[n] = s.node(n)
			case 1:
				endHub()
				epoch++
				_, endHub = s.coordinator(epoch)
			}
			l := links[n]
			asking.Go(func() {
				if out, err := l.Ask(t.Context(), "dev", "claim", number(cut, 0)); cut%3 == 2 && (err != nil || numberOf(t, out) != cut) {
					t.Errorf("request in cut %d: %s, %v", cut, out, err)
				}
			})
			time.Sleep([]time.Duration{5 * time.Second, 45 * time.Second, 3 * time.Minute}[luck.IntN(3)])
			s.cable.sever(n, false)
			time.Sleep(10 * time.Second)
			asking.Wait()
		}
		for _, n := range names {
			if err := links[n].Leave(t.Context()); err != nil {
				t.Error(err)
			}
			_ = ends[n]()
			for i, j := range got[n] {
				if i != j {
					t.Fatalf("node %s: report %d came as number %d", n, j, i)
				}
			}
			if len(got[n]) != sent[n] {
				t.Errorf("node %s: %d of %d reports came", n, len(got[n]), sent[n])
			}
		}
		endHub()
	})
}
