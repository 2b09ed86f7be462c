package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/coveyteam/covey/bus"
)

// onServers starts servers for a team with nodes, and returns the connections of its coordinator and
// its nodes.
func onServers(t *testing.T, names ...string) (coordinator *nats.Conn, nodes []*nats.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var list []bus.NodeUser
	var creds []Creds
	for _, n := range names {
		c, err := MakeCreds(filepath.Join(t.TempDir(), "creds"), "crew", n)
		if err != nil {
			t.Fatal(err)
		}
		key, err := c.Key()
		if err != nil {
			t.Fatal(err)
		}
		list, creds = append(list, bus.NodeUser{Name: n, Key: key}), append(creds, c)
	}
	trial, err := bus.StartTrial(ctx, t.TempDir(), "crew", list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	option, err := nats.NkeyOptionFromSeed(trial.Creds)
	if err != nil {
		t.Fatal(err)
	}
	if coordinator, err = nats.Connect(trial.URL[0], option); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(coordinator.Close)
	for i := range creds {
		creds[i].URL = trial.URL
		wire, err := creds[i].Dial(func(err error) { t.Log(err) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(wire.Conn.Close)
		nodes = append(nodes, wire.Conn)
	}
	return coordinator, nodes
}

// TestServers: with the permissions that covey prints, a node is taken, asks, reports and gets orders,
// and the coordinator answers no subject that a request names.
func TestServers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	coordinator, nodes := onServers(t, "big")
	fail := func(err error) { t.Log(err) }
	h := NewHub(NATS{coordinator}, HubConfig{Team: "crew", Epoch: 1, Store: newMemory(), Takes: func(*Profile) error { return nil },
		Changed: func(Node) {}, Settle: func(context.Context) {}, Refused: fail, OnError: fail})
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	reported := make(chan string, 1)
	group.Go(func() {
		_ = h.Serve(ctx, func(_ context.Context, _, _, _ string, in json.RawMessage) (json.RawMessage, error) { return in, nil },
			func(_ context.Context, _ string, _ uint64, _ string, body json.RawMessage) error {
				reported <- string(body)
				return nil
			})
	})
	l, err := NewLink(NATS{nodes[0]}, LinkConfig{Team: "crew", Profile: Profile{Name: "big", Places: 1}, Dir: t.TempDir(), OnError: fail})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		_ = l.Serve(ctx, func(_ context.Context, _, _ string, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	})
	body := number(1, 3<<20)
	if out, err := l.Ask(ctx, "dev", "claim", body); err != nil || !bytes.Equal(out, body) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if out, err := h.Order(ctx, "big", "dev", "go", body); err != nil || !bytes.Equal(out, body) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if err := l.Report(ctx, "dev", json.RawMessage(`"x"`)); err != nil {
		t.Error(err)
	}
	if got := <-reported; got != `"x"` {
		t.Error(got)
	}
	stolen, err := coordinator.SubscribeSync("covey.crew.log")
	if err != nil {
		t.Fatal(err)
	}
	packet := append([]byte{0, 0, 0, 1, 0, 0, 1}, fmt.Sprintf(`{"format":2,"process":"P","disk":"%s","body":{"version":"0.9"}}`, l.spool.id)...)
	if err := nodes[0].PublishRequest(Subject("crew", "big", "beat"), "covey.crew.log", packet); err != nil {
		t.Error(err)
	}
	if _, err := l.Ask(ctx, "dev", "claim", nil); err != nil { // after this, the beat has been answered
		t.Error(err)
	}
	if err := coordinator.FlushTimeout(time.Minute); err != nil {
		t.Error(err)
	}
	if n, _, err := stolen.Pending(); n != 0 || err != nil {
		t.Errorf("the coordinator has published to the log for a node: %d, %v", n, err)
	}
}

// TestStolenKey: the servers refuse every subject of another node, of the coordinator, of the streams
// and of JetStream's interface to the key of a node.
func TestStolenKey(t *testing.T) {
	coordinator, nodes := onServers(t, "big", "other")
	thief := nodes[0]
	refused := make(chan error, 100)
	thief.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	heard, err := coordinator.SubscribeSync("covey.crew.>")
	if err != nil {
		t.Fatal(err)
	}
	var subjects, own []string
	for _, l := range []lane{beats, requests, reports, answers, orders, inbox} {
		subjects = append(subjects, Subject("crew", "other", string(l)))
		own = append(own, Subject("crew", "big", string(l)))
	}
	subjects = append(subjects, "covey.crew.log", "covey.crew.epoch", "covey.crew.journal", "covey.crew.live", "covey.crew.ctl.op-x.stop",
		"covey.crew.node.big.extra", "covey.crew.node.big", "covey.other.log", "_INBOX.x", "$O.covey_crew.M.x", "$O.covey_crew.C.x",
		"$JS.API.INFO", "$JS.API.STREAM.INFO.covey_crew", "$JS.API.STREAM.MSG.GET.covey_crew", "$JS.API.STREAM.PURGE.covey_crew",
		"$JS.API.STREAM.DELETE.covey_crew", "$JS.API.STREAM.UPDATE.covey_crew", "$JS.API.DIRECT.GET.covey_crew", "$JS.API.STREAM.INFO.OBJ_covey_crew",
		"$JS.API.DIRECT.GET.covey_crew_journal", "$JS.API.CONSUMER.CREATE.covey_crew", "$JS.ACK.covey_crew.x", "$SYS.REQ.SERVER.PING.JSZ", "$SYS.REQ.SERVER.PING")
	subscribe := append([]string{">", "*.>", "covey.>", "covey.crew.>", "covey.crew.node.>", "covey.crew.node.*.order", "covey.crew.node.*.inbox",
		"_INBOX.>", "$JS.>", "$O.>"}, subjects...)
	want := func(what, subject string) {
		t.Helper()
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s %s: %v", what, subject, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("the servers let the key of node big %s %s", what, subject)
		}
	}
	for _, s := range append(subjects, own[4], own[5]) { // nor may it speak for the coordinator
		if err := thief.PublishRequest(s, own[5], []byte("x")); err != nil {
			t.Fatal(err)
		}
		want("publish to", s)
	}
	for _, s := range append(subscribe, own[:4]...) {
		if _, err := thief.SubscribeSync(s); err != nil {
			t.Fatal(err)
		}
		want("subscribe to", s)
	}
	for _, s := range own[:4] {
		if err := thief.Publish(s, []byte("own")); err != nil {
			t.Fatal(err)
		}
	}
	for range own[:4] {
		if m, err := heard.NextMsg(time.Minute); err != nil || string(m.Data) != "own" {
			t.Errorf("%+v, %v", m, err)
		}
	}
	select {
	case err := <-refused:
		t.Error(err)
	default:
	}
}
