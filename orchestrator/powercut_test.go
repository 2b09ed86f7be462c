package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestPowerCut takes the power away again and again until the team comes to its
// end: after each kill, what no sync has put on the disk itself is cut at any byte,
// left as zeros, or has a hole (ADVERSARIAL 18, for the files around the store). Each
// file loses as much as it could, whatever the others keep.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it kills processes at random, again and again; other tests kill them at a moment and go on in this one")
	}
	rounds := 1
	if *teamtest.AllRounds {
		rounds = 8
	}
	for round := range rounds {
		seed := uint64(round) + 1
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := teamtest.NewRig(t, crashTeam())
			random := rand.New(rand.NewPCG(seed, 23))
			cuts, bytes := 0, int64(0)
			for {
				// Lines that were lost come again in each run, so runs get longer.
				ended := r.RunAndKill(3 + random.IntN(30+4*cuts))
				if ended {
					break
				}
				bytes += cutPower(r, random)
				if cuts++; cuts > 100 {
					t.Fatal("the team never ends")
				}
			}
			t.Logf("%d power cuts took %d bytes", cuts, bytes)
			if bytes == 0 {
				t.Error("nothing was ever lost: that proves nothing")
			}
			checkAfterCrash(r)
		})
	}
}

// cutPower takes from each file what it could lose, and says how many bytes.
func cutPower(r *teamtest.Rig, random *rand.Rand) (lost int64) {
	r.T.Helper()
	place := r.Place()
	// A hook that was being started when covey was killed has its files until it is.
	store, err := tasks.Open(place.Store(), &tasks.Options{ReadOnly: true, BlobDir: place.Blobs(),
		LockTimeout: testkit.Patience})
	if errors.Is(err, os.ErrNotExist) {
		return 0 // killed before there was one
	}
	if err != nil {
		r.T.Fatal(err)
	}
	defer store.Close()
	paths, err := filepath.Glob(filepath.Join(place.Transcripts(), "*", "*.jsonl"))
	if err != nil {
		r.T.Fatal(err)
	}
	for _, path := range paths {
		lost += tear(r, random, path, durableTranscript(r.T, store, path))
	}
	if _, err := os.Stat(place.Journal()); err == nil {
		lost += tear(r, random, place.Journal(), durableJournal(r.T, store, place.Journal()))
	}
	return lost
}

// tear loses what stands behind the durable part of a file, in one of the ways in
// which file systems do.
func tear(r *teamtest.Rig, random *rand.Rand, path string, durable int) int64 {
	r.T.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		r.T.Fatal(err)
	}
	if durable == len(data) {
		return 0
	}
	keep := durable + random.IntN(len(data)-durable)
	torn := data[:keep:keep]
	switch random.IntN(3) {
	case 0: // the size was written, the content was not
		torn = append(torn, make([]byte, len(data)-keep)...)
	case 1: // a page in the middle never came: only the journal goes on behind it
		end := keep + random.IntN(len(data)-keep)
		if filepath.Base(path) == "journal.jsonl" {
			torn = slices.Concat(torn, make([]byte, end-keep), data[end:])
		}
	}
	if err := os.WriteFile(path, torn, 0o600); err != nil {
		r.T.Fatal(err)
	}
	return int64(len(data) - keep)
}

// durableTranscript is how much of a transcript must be on the disk itself: a line
// whose mail the store has forgotten, or whose call has had its effect, and all
// before it.
func durableTranscript(t *testing.T, store *tasks.Store, path string) (durable int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	member := filepath.Base(filepath.Dir(path))
	unread, err := store.Mail().Unread(context.Background(), member)
	if err != nil {
		t.Fatal(err)
	}
	waits := map[string]bool{}
	for _, m := range unread {
		waits[m.ID] = true
	}
	at := 0
	for text := range bytes.Lines(data) {
		at += len(text)
		var l struct {
			Mail    []string
			Message agent.Message
		}
		if json.Unmarshal(text, &l) != nil {
			continue // torn by the kill
		}
		synced := slices.ContainsFunc(l.Mail, func(id string) bool { return !waits[id] })
		for _, call := range l.Message.ToolCalls() {
			_, done, err := store.Receipt(context.Background(), member, call.ID)
			synced = synced || done && err == nil
		}
		if synced {
			durable = at
		}
	}
	return durable
}

// durableJournal is how much of the journal must be on the disk itself: the lines
// of events that have left the store's outbox, and all before them.
func durableJournal(t *testing.T, store *tasks.Store, path string) (durable int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	waits := ^uint64(0)
	if list, err := store.Outbox().Events(context.Background(), 0, 1); err != nil {
		t.Fatal(err)
	} else if len(list) > 0 {
		waits = list[0].ID
	}
	at := 0
	for text := range bytes.Lines(data) {
		at += len(text)
		var l events.Line
		if json.Unmarshal(text, &l) == nil && l.Store > 0 && l.Store < waits {
			durable = at
		}
	}
	return durable
}
