package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/coveyteam/covey/bus"
)

// TestFailedObjects: an object that could not be stored as a whole leaves nothing, and those that were
// stored stay, because each try of a big one would otherwise leave a copy.
func TestFailedObjects(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	trial, err := bus.StartTrial(ctx, t.TempDir(), "crew", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	link, err := Connect(Config{Team: "crew", URL: trial.URL, Creds: trial.Creds, OnError: func(err error) { t.Log("servers:", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	_, _, objects, err := link.streams(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a long text. ", 100_000)
	if err := objects.put("text/whole", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the file cannot be read")
	if err := objects.put("text/half", io.MultiReader(strings.NewReader(text), failingReader{failed})); !errors.Is(err, failed) {
		t.Errorf("half an object: %v", err)
	}
	var have bytes.Buffer
	if err := objects.get("text/whole", &have); err != nil || have.String() != text {
		t.Errorf("a whole object has %d bytes, %v", have.Len(), err)
	}
	if names, err := objects.names("text/"); err != nil || !slices.Equal(names, []string{"text/whole"}) {
		t.Errorf("there are %q, %v", names, err)
	}
	// As a message of which no answer comes, a part that is sent again is stored once.
	part := message{subject: objects.partsOf("text/part"), data: []byte("part")}
	for range 2 {
		if err := objects.send(part, "text/part/1"); err != nil {
			t.Error(err)
		}
	}
	info, err := objects.Info(ctx, jetstream.WithSubjectFilter(part.subject))
	if n := info.State.Subjects[part.subject]; err != nil || n != 1 {
		t.Errorf("a part is stored %d times, %v", n, err)
	}
	// Tools for object stores can read them.
	store, err := link.js.ObjectStore(ctx, "covey_crew")
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := store.GetString(ctx, "text/whole"); err != nil || shown != text {
		t.Errorf("another client has %d bytes, %v", len(shown), err)
	}
	if err := objects.drop("text/whole"); err != nil {
		t.Error(err)
	}
	if _, err := objects.info("text/whole"); !errors.Is(err, errNone) {
		t.Errorf("an object that was dropped: %v", err)
	}
}

// TestSilentServer: a link whose server answers, and does not reach the others, goes on with another one.
func TestSilentServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	trial, err := bus.StartTrial(ctx, t.TempDir(), "crew", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	key, err := bus.CoordinatorKey(trial.Creds)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, Nkeys: []*natsserver.NkeyUser{{Nkey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	alone.Start()
	defer alone.Shutdown()
	if !alone.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not listen")
	}
	config := Config{Team: "crew", URL: trial.URL, Creds: trial.Creds, OnError: func(err error) { t.Log("servers:", err) }}
	link, err := Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if _, _, _, err := link.streams(ctx); err != nil {
		t.Fatal(err)
	}
	config.URL = append([]string{alone.ClientURL()}, trial.URL...)
	cut, err := Connect(config)
	for ; err != nil || cut.nc.ConnectedUrl() != alone.ClientURL(); cut, err = Connect(config) { // it takes any of them
		if err == nil {
			cut.Close()
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	defer cut.Close()
	records := &jetStream{js: cut.js, server: cut.server, name: "covey_crew"}
	log := &Log{chain: &chain{stream: records, patience: time.Minute, now: time.Now, pause: time.Sleep}, epochs: "covey.crew.epoch"}
	if _, err := log.begin(ctx, Epoch{}, Epoch{Holder: "cut"}); err != nil {
		t.Errorf("a candidate at a server that is alone: %v", err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
