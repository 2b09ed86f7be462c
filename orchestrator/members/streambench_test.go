package members_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// BenchmarkLastByte measures the time from the last byte that a provider sends of a text to its
// line in the journal. The bar is 2 ms for 99 of 100. Beside it is measured how long a line takes
// over such a connection to a reader that does nothing with it.
//
//	go test -run xxx -bench LastByte -benchtime 1000x ./orchestrator/members
func BenchmarkLastByte(b *testing.B) {
	s, written := newWriters(b), make(chan time.Time, 1)
	c := teamtest.StartBench(b, map[string]string{
		"team.yaml": fmt.Sprintf("covey: 1\nname: crew\nkeep: true\nmodels: {l: {provider: script, script: s.yaml}, "+
			"m: {provider: anthropic, model: m, base_url: %q, key_file: key}}\nlead: {model: l}\nteammates: {m0: {model: m}}\n", s.URL),
		"s.yaml": "steps: [{say: Fine., times: -1}]\n", "key": "m0",
	}, func(l events.Line) {
		if l.Type == "text" && l.Member == "m0" {
			written <- time.Now()
		}
	})
	var took, bare []time.Duration
	alone := bareStream(b)
	for b.Loop() {
		bare = append(bare, alone())
		if _, err := c.Send(b.Context(), api.Send{To: "m0", Text: teamtest.LookPrompt}); err != nil {
			b.Fatal(err)
		}
		x := s.next(b)
		for range 50 {
			x.say("A few words more. ")
		}
		last := time.Now()
		x.finish()
		took = append(took, (<-written).Sub(last))
	}
	teamtest.ReportTimes(b, "line", took)
	teamtest.ReportTimes(b, "bare", bare)
}

// bareStream returns a function that measures how long a line takes from a provider to a reader of
// its stream.
func bareStream(b *testing.B) func() time.Duration {
	b.Helper()
	s := newWriters(b)
	got, end := make(chan time.Time), make(chan error, 1)
	go func() {
		resp, err := http.Post(s.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			end <- err
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if lines.Text() != "" {
				got <- time.Now()
			}
		}
		end <- lines.Err()
	}()
	x := s.next(b)
	b.Cleanup(func() {
		x.over <- true
		if err := <-end; err != nil {
			b.Error(err)
		}
	})
	return func() time.Duration {
		sent := time.Now()
		x.say("A few words more. ")
		return (<-got).Sub(sent)
	}
}

// streams is a provider whose members all write at the same time, at a steady pace.
type streams struct {
	members, pieces int
	pace            time.Duration
	asked           sync.WaitGroup // until all have asked

	mu   sync.Mutex
	sent map[string][]time.Time // when each piece was sent, and at last the end
}

// ServeHTTP writes one answer, once all members wait for theirs.
func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who := r.Header.Get("X-Api-Key")
	s.asked.Done()
	s.asked.Wait()
	w.Header().Set("Content-Type", "text/event-stream")
	x, tick := &writing{w: w, over: make(chan bool, 1)}, time.NewTicker(s.pace)
	defer tick.Stop()
	for n := range s.pieces {
		<-tick.C
		s.note(who)
		x.say(fmt.Sprintf("%d words of mine, ", n))
	}
	s.note(who)
	x.finish()
}

// note notes that a member's next piece is sent now.
func (s *streams) note(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[who] = append(s.sent[who], time.Now())
}

// age returns how long ago a member's nth piece was sent.
func (s *streams) age(who string, n int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.sent[who][n])
}

// BenchmarkStreams lets 100 members write at the same time, 20 pieces a second each. It measures
// how long each piece takes from the provider to a reader that is attached to the whole team, and
// how long each text takes from its end to its line in the journal. The bar is that nothing
// takes a second. Provider, team and reader share one process.
//
//	go test -run xxx -bench Streams -benchtime 3x ./orchestrator/members
func BenchmarkStreams(b *testing.B) {
	s := &streams{members: 100, pieces: 100, pace: 50 * time.Millisecond}
	server := httptest.NewServer(s)
	b.Cleanup(server.Close)
	files := map[string]string{"s.yaml": "steps: [{say: Fine., times: -1}]\n"}
	var spec strings.Builder
	spec.WriteString("covey: 1\nname: crew\nkeep: true\nmodels: {l: {provider: script, script: s.yaml}}\nlead: {model: l}\nteammates:\n")
	for n := range s.members {
		name := fmt.Sprintf("m%d", n)
		files["key-"+name] = name
		fmt.Fprintf(&spec, "  %s: {model: {provider: anthropic, model: m, base_url: %q, key_file: key-%[1]s}}\n", name, server.URL)
	}
	files["team.yaml"] = spec.String()
	written := make(chan time.Duration, s.members)
	c := teamtest.StartBench(b, files, func(l events.Line) {
		if l.Type == "text" && l.Member != "lead" {
			written <- s.age(l.Member, s.pieces)
		}
	})
	seen := make(chan []time.Duration, 1)
	go s.read(b, c, seen)
	var shown, lines []time.Duration
	for b.Loop() {
		s.mu.Lock()
		s.sent = map[string][]time.Time{}
		s.mu.Unlock()
		s.asked.Add(s.members)
		for n := range s.members {
			if _, err := c.Send(b.Context(), api.Send{To: fmt.Sprintf("m%d", n), Text: teamtest.LookPrompt}); err != nil {
				b.Fatal(err)
			}
		}
		for range s.members {
			lines = append(lines, <-written)
		}
	}
	_ = c.Close() // ends the reader
	shown = <-seen
	b.ReportMetric(float64(len(shown))/float64(b.N*s.members*s.pieces), "pieces-seen")
	for what, took := range map[string][]time.Duration{"shown": shown, "line": lines} {
		teamtest.ReportTimes(b, what, took)
		b.ReportMetric(float64(took[len(took)-1].Microseconds()), what+"-max-µs")
	}
}

// read reads drafts until the team ends, and sends how old each piece was when it came. It
// counts each answer's pieces from its end: text before it was cut off, or has been counted.
func (s *streams) read(b *testing.B, c *api.Client, seen chan<- []time.Duration) {
	var ages []time.Duration
	var now members.Drafting
	last := map[string]int{} // the newest piece of each member
	for {
		next, err := c.Drafts(b.Context(), api.DraftsRequest{After: now.Number})
		if err != nil {
			seen <- ages
			return
		}
		now = next
		for _, d := range now.Drafts {
			n, ok := lastPiece(d.Text)
			if !ok {
				continue
			}
			if n < last[d.Member] {
				last[d.Member] = -1 // another answer
			}
			for ; last[d.Member] < n; last[d.Member]++ {
				ages = append(ages, s.age(d.Member, last[d.Member]+1))
			}
		}
	}
}

// lastPiece returns the number of the last piece in a text.
func lastPiece(text string) (n int, ok bool) {
	words := strings.Split(strings.TrimSuffix(text, ", "), ", ")
	number, _, _ := strings.Cut(words[len(words)-1], " ")
	n, err := strconv.Atoi(number)
	return n, err == nil
}
