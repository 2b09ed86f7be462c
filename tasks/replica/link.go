package replica

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/coveyteam/covey/tasks/store"
)

// Config is how a team reaches its servers.
type Config struct {
	Team   string
	URL    []string
	Creds  string // path of a file with an nkey or with NATS credentials; empty: none
	Unsafe bool   // the servers need not keep three copies, nor sync each write
	// OnError is called with errors that no call returns; it must not block.
	OnError func(error)
}

// The errors of servers that cannot be used. Their texts end with the way out.
var (
	// ErrServers: the servers cannot be reached, or not enough of them.
	ErrServers = errors.New("the servers of the team's bus")
	// ErrUnsafe: the servers may lose what they have acknowledged.
	ErrUnsafe = errors.New("the servers of the team's bus are not safe")
)

// errNoLeader: the servers have no leader, or are about to choose one.
var errNoLeader = fmt.Errorf("%w have no leader for the team: at least two of three must run, reach each other and have room on their disks", ErrServers)

// Link is a connection to a team's servers.
type Link struct {
	config Config
	nc     *nats.Conn
	js     jetstream.JetStream
	server *server
	denied atomic.Bool // the servers have refused a subject to this key
}

// Connect connects to the servers.
func Connect(c Config) (*Link, error) {
	l := &Link{config: c, server: &server{}}
	var proof []nats.Option
	if c.Creds != "" {
		option, err := credentials(c.Creds)
		if err != nil {
			return nil, fmt.Errorf("bus.creds: %w", err)
		}
		proof = []nats.Option{option}
	}
	onError := func(err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			l.denied.Store(true)
		}
		c.OnError(err)
	}
	var err error
	if l.nc, err = Dial(c.Team, c.URL, onError, proof...); err != nil {
		return nil, c.connectError(err)
	}
	if l.js, err = jetstream.New(l.nc, jetstream.WithDefaultTimeout(requestWait)); err != nil {
		l.nc.Close()
		return nil, err
	}
	return l, nil
}

// Dial connects to a team's servers, for ever: a connection that is cut is made anew. onError is called
// with errors that no call returns; it must not block.
func Dial(team string, urls []string, onError func(error), proof ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(strings.Join(urls, ","), append([]nats.Option{
		nats.Name("covey " + team), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectBufSize(-1),
		nats.Timeout(requestWait), nats.PingInterval(requestWait), nats.MaxPingsOutstanding(2),
		// Servers that ask for TLS get it in its newest version, and those with the scheme tls must.
		func(o *nats.Options) error { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13}; return nil },
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { onError(err) }),
	}, proof...)...)
}

// Conn returns the connection, for subjects that no stream has.
func (l *Link) Conn() *nats.Conn { return l.nc }

// credentials returns what a file with credentials or with the seed of an nkey proves.
func credentials(path string) (nats.Option, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users; chmod 600 %[1]s", path)
	}
	if strings.Contains(string(data), "BEGIN NATS USER JWT") {
		return nats.UserCredentials(path), nil
	}
	return nats.NkeyOptionFromSeed(path)
}

// connectError explains in one line why no server took the connection.
func (c Config) connectError(err error) error {
	list := strings.Join(c.URL, ", ")
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%w: the certificate of %s is out of date; renew it on the servers: %w", ErrServers, list, err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: this host does not trust the certificate of %s; add their ca.pem to the system's certificates: %w", ErrServers, list, err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("%w refuse the key in %s; covey nats config says how they learn of it: %w", ErrServers, c.Creds, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("%w do not answer: %s; start them, or correct bus.url: %w", ErrServers, list, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrServers, list, err)
}

// Close closes the connection.
func (l *Link) Close() { l.nc.Close() }

// The sizes of streams. They are far above what is kept: a snapshot every 64 MiB of commits, and two
// of them.
const (
	logBytes     = 1 << 30
	journalBytes = 256 << 20
	journalAge   = 90 * 24 * time.Hour
	copies       = 3
)

// streams returns the team's streams, which are created if there are none.
func (l *Link) streams(ctx context.Context) (records, lines *jetStream, texts *jetObjects, err error) {
	name, subject := "covey_"+l.config.Team, "covey."+l.config.Team+"."
	records, err = l.stream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{subject + "log", subject + "epoch"}, Discard: jetstream.DiscardNew, MaxBytes: logBytes,
		DenyDelete: true, AllowAtomicPublish: true, AllowDirect: true, Duplicates: time.Second,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	lines, err = l.stream(ctx, jetstream.StreamConfig{
		Name: name + "_journal", Subjects: []string{subject + "journal", subject + "live"}, MaxBytes: journalBytes, MaxAge: journalAge,
		DenyDelete: true, AllowAtomicPublish: true, AllowDirect: true, AllowRollup: true, Duplicates: time.Second,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	stored, err := l.js.Stream(ctx, "OBJ_"+name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = l.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: records.CachedInfo().Config.Replicas})
		if err == nil {
			stored, err = l.js.Stream(ctx, "OBJ_"+name)
		}
	}
	if err != nil {
		return nil, nil, nil, l.streamError(err)
	}
	return records, lines, &jetObjects{&jetStream{l.js, l.server, stored, "OBJ_" + name}, name}, nil
}

// stream returns a stream. A takeover must need nothing but the stream's own leader, so it is only
// looked up if it exists.
func (l *Link) stream(ctx context.Context, c jetstream.StreamConfig) (*jetStream, error) {
	c.Storage, c.Replicas = jetstream.FileStorage, copies
	s, err := l.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.create(ctx, c)
	}
	if err != nil {
		return nil, l.streamError(err)
	}
	return &jetStream{l.js, l.server, s, c.Name}, nil
}

// create makes a stream.
func (l *Link) create(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := l.js.CreateStream(ctx, c)
	var api jetstream.JetStreamError
	if l.config.Unsafe && errors.As(err, &api) && api.APIError() != nil { // fewer servers
		c.Replicas = 1
		return l.js.CreateStream(ctx, c)
	}
	return s, err
}

// electionWait is how long a process that begins waits for servers that choose a leader. An election
// takes up to 9 seconds, and servers that have just started must find each other first.
const electionWait = 20 * time.Second

// led calls do until the servers have a leader, and returns its error.
func (l *Link) led(ctx context.Context, do func() error) error {
	for begun := time.Now(); ; {
		err := do()
		if !errors.Is(err, errNoLeader) || time.Since(begun) > electionWait {
			return err
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return err
		}
	}
}

// streamError explains in one line why a stream cannot be used.
func (l *Link) streamError(err error) error {
	var api *jetstream.APIError
	const (
		noPeers  = 10005 // servers that have just started do not know each other yet
		notReady = 10008
	)
	switch {
	case err == nil, errors.Is(err, store.ErrFormat), errors.Is(err, errNoLeader):
		return err
	case l.denied.Load():
		return fmt.Errorf("%w do not let the key in %s work for team %s; it is another team's, or covey nats config has changed",
			ErrServers, l.config.Creds, l.config.Team) // err says that there is no answer
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders),
		errors.As(err, &api) && (api.ErrorCode == noPeers || api.ErrorCode == notReady):
		return errNoLeader // err says no more
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w have no JetStream for this account; covey nats config prints how to enable it: %w", ErrServers, err)
	}
	return fmt.Errorf("%w: %w", ErrServers, err)
}

// monitoring is the subject by which servers say how they are configured. The configuration of
// covey nats config exports it to the team's account.
const monitoring = "$SYS.REQ.SERVER.PING.JSZ"

// safe returns an error if the servers of a stream may lose what they acknowledge.
func (l *Link) safe(ctx context.Context, s *jetStream) error {
	info, err := s.Info(ctx)
	if err != nil {
		return l.streamError(err)
	}
	if info.Config.Replicas < copies {
		return fmt.Errorf("%w: stream %s has %d copies, not %d; delete it and run three servers in one cluster, or set bus.unsafe: true",
			ErrUnsafe, s.name, info.Config.Replicas, copies)
	}
	var holders []string
	if info.Cluster != nil {
		if info.Cluster.Leader == "" {
			return errNoLeader
		}
		holders = append(holders, info.Cluster.Leader)
		for _, p := range info.Cluster.Replicas {
			holders = append(holders, p.Name)
		}
	}
	syncs, gaveUp, silent := l.syncing(holders)
	begun := info.State.LastSeq > 0 // so a server that has died since has been asked before
	for _, name := range holders {
		always, known := syncs[name]
		switch {
		case !known && begun && 2*len(syncs) > len(holders):
			continue
		case !known && (silent || len(syncs)+gaveUp > 0 && 2*len(syncs) < len(holders)): // most do not run, and the leader has not noticed yet
			return errNoLeader
		case !known:
			return fmt.Errorf("%w: whether server %s syncs each write cannot be read; export %s to the team's account, as covey nats config does, "+
				"or set bus.unsafe: true", ErrUnsafe, name, monitoring)
		case !always:
			return fmt.Errorf("%w: server %s does not sync each write; set sync_interval: always in its jetstream section, "+
				"or bus.unsafe: true", ErrUnsafe, name)
		}
	}
	return nil
}

// syncing asks the servers whether they sync each write, and waits until all have answered. gaveUp is how
// many keep nothing any more, as those do whose disk was full. silent means that nobody has said anything, not
// even that nobody answers such requests.
func (l *Link) syncing(names []string) (have map[string]bool, gaveUp int, silent bool) {
	have, silent = map[string]bool{}, true
	inbox := l.nc.NewRespInbox()
	sub, err := l.nc.SubscribeSync(inbox)
	if err != nil {
		return have, 0, false
	}
	defer sub.Unsubscribe()
	if err := l.nc.PublishRequest(monitoring, inbox, nil); err != nil {
		return have, 0, false
	}
	for begun := time.Now(); time.Since(begun) < requestWait; {
		m, err := sub.NextMsg(requestWait)
		if err != nil {
			silent = silent && errors.Is(err, nats.ErrTimeout) && !l.denied.Load()
			break
		}
		silent = false
		var answer struct {
			Server struct{ Name string }
			Data   struct {
				Disabled bool
				Config   struct {
					SyncAlways bool `json:"sync_always"`
				}
			}
		}
		switch {
		case json.Unmarshal(m.Data, &answer) != nil, !slices.Contains(names, answer.Server.Name):
		case answer.Data.Disabled:
			gaveUp++
		default:
			have[answer.Server.Name] = answer.Data.Config.SyncAlways
		}
		if len(have)+gaveUp == len(names) {
			break
		}
	}
	return have, gaveUp, silent
}

// Examine returns the last epoch of the team, with the number 0 if none has begun, and the state of its
// coordinator, whose Acked is zero if it gives no sign of life. The error says why the servers cannot be
// used, and wraps ErrUnsafe if they may lose data.
func (l *Link) Examine(ctx context.Context) (Epoch, Status, error) {
	name := "covey_" + l.config.Team
	s, err := l.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && !l.denied.Load() {
		return Epoch{}, Status{}, nil
	}
	if err != nil {
		return Epoch{}, Status{}, l.streamError(err)
	}
	records := &jetStream{l.js, l.server, s, name}
	e, err := lastEpoch(ctx, records, l.subject("epoch"))
	if err != nil {
		return e, Status{}, l.streamError(err)
	}
	now := Status{Host: e.Host, Since: e.Since, Epoch: e.Number, Quorum: true}
	if e.Holder != "" {
		now.Acked, now.Standby = l.signs(ctx, e.Number)
	}
	return e, now, l.safe(ctx, records)
}

// signs waits for signs of life of the coordinator of an epoch, which returns when it came, and of a
// standby, whose host it returns.
func (l *Link) signs(ctx context.Context, epoch uint64) (acked time.Time, standby string) {
	ctx, cancel := context.WithTimeout(ctx, 2*beatEvery+beatEvery/2)
	defer cancel()
	sub, err := l.nc.SubscribeSync(l.subject("*"))
	if err != nil {
		return acked, ""
	}
	defer sub.Unsubscribe()
	for acked.IsZero() || standby == "" {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break
		}
		var a alive
		switch {
		case json.Unmarshal(m.Data, &a) != nil:
		case m.Subject == l.subject("live") && a.Epoch >= epoch:
			acked = time.Now()
		case m.Subject == l.subject("standby"):
			standby = a.Host
		}
	}
	return acked, standby
}

// Clock returns by how much this host's clock is before that of the servers, about.
func (l *Link) Clock(ctx context.Context) (time.Duration, error) {
	s, err := l.js.Stream(ctx, "covey_"+l.config.Team)
	if err != nil {
		return 0, err
	}
	return time.Since(s.CachedInfo().TimeStamp).Round(time.Second), nil
}
