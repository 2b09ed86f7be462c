package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

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
	if err := objects.put("whole", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	// What nats.go does when it can clean up nothing: the chunks are there, and no object.
	id := strings.TrimPrefix(link.nc.NewInbox(), "_INBOX.")
	if _, err := link.js.Publish(ctx, "$O.covey_crew.C."+id, []byte(text[:1000])); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the file cannot be read")
	if err := objects.put("half", io.MultiReader(strings.NewReader(text), failingReader{failed})); !errors.Is(err, failed) {
		t.Errorf("half an object: %v", err)
	}
	var have bytes.Buffer
	if err := objects.get("whole", &have); err != nil || have.String() != text {
		t.Errorf("a whole object has %d bytes, %v", have.Len(), err)
	}
	info, err := objects.stream.Info(ctx, jetstream.WithSubjectFilter("$O.covey_crew.C.>"))
	if err != nil || len(info.State.Subjects) != 1 {
		t.Errorf("there are parts of %d objects, %v", len(info.State.Subjects), err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
