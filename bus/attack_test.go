package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The numbers are those of ADVERSARIAL.md section 5. bob and alice are members
// with a shell; each speaks NATS by itself, not through our client.

// intruder is a plain NATS connection with the credentials of one identity.
type intruder struct {
	*nats.Conn
	hello   hello
	refused chan error // permission violations, as the server reports them
}

// intrude connects to path with plain NATS.
func intrude(t *testing.T, path string) *intruder {
	t.Helper()
	c, r, h := rawDial(t, path)
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	in := &intruder{hello: h, refused: make(chan error, 100)}
	nc, err := nats.Connect("nats://x", nats.Token(h.Token), nats.NoReconnect(), nats.SkipHostLookup(),
		nats.SetCustomDialer(ready{&buffered{Conn: c, r: r}}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { in.refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	in.Conn = nc
	return in
}

// twoMembers is a team in which the connections are alice, bob, alice, ….
func twoMembers(t *testing.T) (team *Bus, log *errorLog, path string) {
	t.Helper()
	team, log = mustEmbed(t, Options{})
	var n atomic.Int64
	path = mustListenBy(t, team, func(net.Conn) (Identity, error) {
		if n.Add(1)%2 == 1 {
			return Identity{Kind: "tool", Name: "alice", PID: 1}, nil
		}
		return Identity{Kind: "tool", Name: "bob", PID: 2}, nil
	})
	return team, log, path
}

func TestAttack34ListenElsewhere(t *testing.T) {
	team, _, path := twoMembers(t)
	alice := mustDial(t, path)
	bob := intrude(t, path)
	aliceInbox := strings.TrimSuffix(string(alice.nc.NewInbox()), "."+lastToken(alice.nc.NewInbox()))
	for _, subject := range []string{
		aliceInbox + ".>", aliceInbox + ".*", "_I.>", "_I.*.*", "_I.*.>", inboxOf(bob.hello.Conn) + "*.x", ">", "*", "*.*",
		"covey.>", "covey.covey.>", "covey.covey.ctl.>", "covey.covey.mail.*", "covey.*.mail.bob", "covey.covey.tasks", "covey.*.*", "_INBOX.>",
		"$SYS.>", "$JS.>", "$JS.API.>", string(bob.hello.Scope) + ".>",
	} {
		for _, queue := range []string{"", "q"} {
			sub, err := bob.QueueSubscribeSync(subject, queue)
			if queue == "" {
				sub, err = bob.SubscribeSync(subject)
			}
			if err != nil {
				continue // not even a subject
			}
			if err := bob.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := receive(t, bob.refused); !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("subscribe to %q (queue %q): %v", subject, queue, err)
			}
			for _, s := range []Subject{Subject(aliceInbox + ".x"), "covey.covey.mail.bob", "covey.covey.tasks"} {
				if err := team.publish(s, []byte("secret")); err != nil {
					t.Fatal(err)
				}
			}
			if err := team.nc.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := bob.Flush(); err != nil {
				t.Fatal(err)
			}
			if n, _, _ := sub.Pending(); n > 0 {
				t.Errorf("bob reads %d messages on %q", n, subject)
			}
		}
	}
}

func lastToken(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }

func TestAttack34SpeakAsOthers(t *testing.T) {
	team, _, path := twoMembers(t)
	alice := mustDial(t, path)
	bob := intrude(t, path)
	heard, err := team.nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	if err := team.nc.Flush(); err != nil { // the server knows of the subscription
		t.Fatal(err)
	}
	own := string(bob.hello.Scope)
	for _, subject := range []string{
		string(alice.scope) + ".send", strings.Replace(own, ".bob.", ".alice.", 1) + ".send",
		strings.Replace(own, ".tool.", ".operator.", 1) + ".down", strings.Replace(own, ".2.", ".1.",
			1) + ".send",
		own, own + "x.send", "covey.covey.mail.alice", "covey.covey.journal", "covey.covey.tasks", inboxOf(bob.hello.Conn) + ".x",
		string(alice.nc.NewInbox()), "$SYS.REQ.SERVER.PING", "$JS.API.INFO", "x",
	} {
		if err := bob.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := bob.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := receive(t, bob.refused); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("publish on %q: %v", subject, err)
		}
	}
	if err := errors.Join(bob.Publish(own+".send", []byte("allowed")), bob.Flush()); err != nil {
		t.Fatal(err)
	}
	m, err := heard.NextMsg(patience)
	if err != nil || string(m.Data) != "allowed" {
		t.Errorf("the team first heard %+v, %v", m, err)
	}
	if n, _, _ := heard.Pending(); n > 0 {
		t.Errorf("the team heard %d more", n)
	}
}

func TestAttack35ReplyToOthers(t *testing.T) {
	team, log, path := twoMembers(t)
	handled := make(chan struct{}, 100)
	if _, err := Handle(team, "who", func(context.Context, Caller, string) (string, error) {
		handled <- struct{}{}
		return "an answer", nil
	}); err != nil {
		t.Fatal(err)
	}
	alice := mustDial(t, path)
	bob := intrude(t, path)
	heard, err := team.nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	inbox := inboxOf(bob.hello.Conn)
	elsewhere := []string{
		alice.nc.NewInbox(), string(alice.scope) + ".send", "covey.covey.mail.alice", "covey.covey.journal", inbox, inbox + "x.y", "x",
	}
	for _, reply := range elsewhere {
		if err := bob.PublishRequest(string(bob.hello.Scope)+".who", reply, []byte(`{"id":"1","body":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := bob.PublishRequest(string(bob.hello.Scope)+".who", inbox+".y", []byte(`{"id":"1","body":"x"}`)); err != nil {
		t.Fatal(err)
	}
	receive(t, handled)
	var subjects []string
	for !slices.Contains(subjects, inbox+".y") {
		m, err := heard.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, m.Subject)
	}
	for _, reply := range elsewhere {
		if slices.Contains(subjects, reply) {
			t.Errorf("the team answered on %s", reply)
		}
	}
	if len(handled) > 0 {
		t.Error("a request whose answer was to go elsewhere was worked on")
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if len(log.errs) != len(elsewhere) {
		t.Errorf("%d attempts were reported, want %d: %v", len(log.errs), len(elsewhere), log.errs)
	}
}

func TestAttack36ForeignIDs(t *testing.T) {
	team, _, path := twoMembers(t)
	seen := make(chan Caller, 10)
	if _, err := Handle(team, "send", func(_ context.Context, c Caller, _ string) (int, error) {
		seen <- c
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	alice, bob := intrude(t, path), intrude(t, path)
	forged := []byte(`{"id":"01ALICE","from":"alice","body":"x"}`)
	for _, who := range []*intruder{bob, alice, alice} {
		if err := who.Publish(string(who.hello.Scope)+".send", forged); err != nil {
			t.Fatal(err)
		}
	}
	ids := map[string]bool{}
	names := map[string]int{}
	for range 3 {
		c := receive(t, seen)
		ids[c.ID] = true
		names[c.Name]++
	}
	if ids["01ALICE"] || len(ids) != 3 {
		t.Errorf("requests were known as %v", ids)
	}
	if names["alice"] != 2 || names["bob"] != 1 {
		t.Errorf("requests came from %v", names)
	}
}

func TestAttack37Credentials(t *testing.T) {
	team, _, path := twoMembers(t)
	used := intrude(t, path).hello.Token
	for name, connect := range map[string]string{
		"none":   `CONNECT {"verbose":false}`,
		"empty":  `CONNECT {"verbose":false,"auth_token":""}`,
		"used":   fmt.Sprintf(`CONNECT {"verbose":false,"auth_token":%q}`, used),
		"user":   `CONNECT {"verbose":false,"user":"alice","pass":"x"}`,
		"silent": `PUB covey.covey.mail.alice 0`,
	} {
		t.Run(name, func(t *testing.T) {
			c, r, _ := rawDial(t, path)
			if _, err := fmt.Fprintf(c, "%s\r\nPING\r\n", connect); err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(r)
			if err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
				t.Fatalf("not hung up on: %v", err)
			}
			if !strings.Contains(string(said), "-ERR 'Authorization Violation'") ||
				strings.Contains(string(said), "PONG") {
				t.Errorf("the server said %q", said)
			}
		})
	}
	// Even a connection from inside the process needs credentials.
	c, err := team.srv.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(c, "CONNECT {}\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "Authorization Violation") {
		t.Errorf("the server said %q, %v", line, err)
	}
}

func TestAttack37RevokedWithinASecond(t *testing.T) {
	team, _, path := twoMembers(t)
	alice, bob := mustDial(t, path), mustDial(t, path)
	begin := time.Now()
	team.HangUp(func(id Identity) bool { return id.Name == "alice" })
	closes(t, alice.Done(), "alice is hung up on")
	if d := time.Since(begin); d > patience { // a second is meant; a busy machine may add to it
		t.Errorf("it took %v", d)
	}
	handleWho(t, team)
	if _, err := Ask[string, Identity](within(t, patience), bob, "who", ""); err != nil {
		t.Errorf("bob: %v", err)
	}
}

// A message over the limit ends the sender's connection, and nothing else. Who goes on
// writing while the server hangs up may miss what it says.
func TestOversizedRawMessage(t *testing.T) {
	team, _, path := twoMembers(t)
	handleWho(t, team)
	alice := mustDial(t, path)
	const size = 10 << 20
	for _, sent := range []int{0, size} {
		c, r, h := rawDial(t, path)
		connect, err := json.Marshal(map[string]any{"verbose": false, "auth_token": h.Token})
		if err != nil {
			t.Fatal(err)
		}
		// The server hangs up before it has read all of it, so writing may fail.
		_, _ = fmt.Fprintf(c, "CONNECT %s\r\nPUB %s.who %d\r\n", connect, h.Scope, size)
		_, _ = c.Write(make([]byte, sent))
		said, _ := io.ReadAll(r) // comes back once the connection has ended
		if sent == 0 && !strings.Contains(string(said), "Maximum Payload") {
			t.Errorf("the server said %q", said)
		}
	}
	if _, err := Ask[string, Identity](within(t, patience), alice, "who", ""); err != nil {
		t.Errorf("alice: %v", err)
	}
}

// A connection that asks for things and never reads holds up nobody else.
func TestClientThatDoesNotRead(t *testing.T) {
	team, _, path := twoMembers(t)
	handleWho(t, team)
	alice := mustDial(t, path)
	c, _, h := rawDial(t, path)
	if _, err := fmt.Fprintf(c, "CONNECT {\"auth_token\":%q}\r\nSUB covey.covey.journal 1\r\nPING\r\n", h.Token); err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		if err := team.JournalGrew(uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Ask[string, Identity](within(t, patience), alice, "who", ""); err != nil {
		t.Errorf("alice: %v", err)
	}
}

// Headers carry features that permissions do not cover.
func TestHeadersAreRefused(t *testing.T) {
	team, _, path := twoMembers(t)
	heard, err := team.nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	c, r, h := rawDial(t, path)
	header := "NATS/1.0\r\nNats-Trace-Dest: covey.covey.mail.alice\r\n\r\n"
	if _, err := fmt.Fprintf(c, "CONNECT {\"auth_token\":%q,\"headers\":true}\r\nHPUB %s.who %d %d\r\n%s\r\nPING\r\n",
		h.Token, h.Scope, len(header), len(header), header); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(r) // the server hangs up
	if strings.Contains(string(said), "PONG") {
		t.Errorf("the server went on: %q", said)
	}
	if err := team.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := heard.Pending(); n > 0 {
		t.Errorf("the team heard %d messages", n)
	}
}
