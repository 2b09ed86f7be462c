package bus

import (
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Benchmarks interleave what they compare in each round, because absolute
// figures on a busy machine say little; the metrics are medians of rounds.

// rounds is how many rounds make a median.
const rounds = 7

// contest times competitors in turns, n operations each in every round. It
// reports the median time of one operation of each, and how that of the first
// relates to the others'.
func contest(b *testing.B, names []string, run []func(n int)) {
	b.Helper()
	const batch = 4 // operations that are timed together: the clock costs too
	times := make([][]float64, len(run))
	for range max(rounds, b.N/batch) {
		for i, f := range run {
			begin := time.Now()
			f(batch)
			times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/batch)
		}
	}
	first := median(times[0])
	b.ReportMetric(first, names[0]+"-ns")
	for i, name := range names[1:] {
		other := median(times[i+1])
		b.ReportMetric(other, name+"-ns")
		b.ReportMetric(first/other, "of-"+name)
	}
	b.ReportMetric(0, "ns/op") // the sum of all says nothing
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// payload is 256 bytes of text.
func payload() string { return strings.Repeat("x", 256) }

// BenchmarkRequest is a round trip of 256 bytes: raw NATS in process, our
// typed request, the same raw request over a NATS server on loopback TCP, a Go
// channel, and a bare loopback TCP connection.
func BenchmarkRequest(b *testing.B) {
	bus, _ := mustEmbed(b, Options{})
	topic := mustTopic(b, "echo")
	if _, err := Respond(bus, topic, func(m Message[string]) (string, error) { return m.Body, nil }); err != nil {
		b.Fatal(err)
	}
	rawTopic := mustTopic(b, "raw")
	if _, err := bus.subscribe(rawTopic, func(d delivery) {
		if err := d.Respond(d.Data); err != nil {
			b.Error(err)
		}
	}); err != nil {
		b.Fatal(err)
	}
	text := payload()
	overTCP := natsOverTCP(b)
	contest(b, []string{"typed", "raw", "nats-tcp", "chan", "bare-tcp"}, []func(int){
		func(n int) {
			for range n {
				if got, err := Request[string, string](b.Context(), bus, topic, text); err != nil || got != text {
					b.Fatal(err)
				}
			}
		},
		rawEcho(b, bus.nc, string(rawTopic), text), rawEcho(b, overTCP, "echo", text),
		channelEcho(b, text), tcpEcho(b, text),
	})
}

// rawEcho is a request without envelope and types.
func rawEcho(b *testing.B, nc *nats.Conn, subject, text string) func(int) {
	return func(n int) {
		for range n {
			if m, err := nc.Request(subject, []byte(text), patience); err != nil || len(m.Data) != len(text) {
				b.Fatal(err)
			}
		}
	}
}

// natsOverTCP is a client of a NATS server that listens on loopback, with an
// echo on another connection.
func natsOverTCP(b *testing.B) *nats.Conn {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}
	srv.Start()
	b.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(patience) {
		b.Fatal("the server did not start")
	}
	var conns [2]*nats.Conn
	for i := range conns {
		if conns[i], err = nats.Connect(srv.ClientURL()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(conns[i].Close)
	}
	if _, err := conns[0].Subscribe("echo", func(m *nats.Msg) {
		if err := m.Respond(m.Data); err != nil {
			b.Error(err)
		}
	}); err != nil {
		b.Fatal(err)
	}
	if err := conns[0].Flush(); err != nil {
		b.Fatal(err)
	}
	return conns[1]
}

// channelEcho is the round trip over two channels.
func channelEcho(b *testing.B, text string) func(int) {
	ask, answer := make(chan string), make(chan string)
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := range ask {
			answer <- s
		}
	})
	b.Cleanup(func() {
		close(ask)
		wg.Wait()
	})
	return func(n int) {
		for range n {
			ask <- text
			<-answer
		}
	}
}

// tcpEcho is the round trip over a loopback connection.
func tcpEcho(b *testing.B, text string) func(int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c) // ends when the other side closes
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Close()
		l.Close()
		wg.Wait()
	})
	buf := make([]byte, len(text))
	return func(n int) {
		for range n {
			if _, err := c.Write([]byte(text)); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkWake1000 wakes 1,000 members: over the one shared connection with
// one wildcard subscription, as covey does, and over a connection for each.
// No wake may be lost.
func BenchmarkWake1000(b *testing.B) {
	const members = 1000
	bus, _ := mustEmbed(b, Options{MaxConns: members + 1})
	names := make([]string, members)
	for i := range names {
		names[i] = "m" + strconv.Itoa(i)
	}
	var heard sync.WaitGroup
	if _, err := bus.OnWake(func(string) { heard.Done() }); err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		o := bus.clientOptions(bus.grants.mint(nil), ConnID(name))
		o.InProcessServer = bus.srv
		o.ClosedCB = nil
		nc, err := o.Connect()
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.Subscribe("covey.topic.each."+name, func(delivery) { heard.Done() }); err != nil {
			b.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	contest(b, []string{"shared", "each"}, []func(int){
		func(n int) {
			heard.Add(n)
			for i := range n {
				if err := bus.Wake(names[i%members]); err != nil {
					b.Fatal(err)
				}
			}
			heard.Wait()
		},
		func(n int) {
			heard.Add(n)
			for i := range n {
				if err := bus.publish(Subject("covey.topic.each."+names[i%members]), nil); err != nil {
					b.Fatal(err)
				}
			}
			heard.Wait()
		},
	})
}

// BenchmarkIdleMember is what a member that waits costs: its own queue, and
// nothing on the bus, since one subscription serves all.
func BenchmarkIdleMember(b *testing.B) {
	const members = 10_000
	bus, _ := mustEmbed(b, Options{})
	for b.Loop() {
		before, goroutines := heap(), runtime.NumGoroutine()
		queues := make(map[string]chan struct{}, members)
		for i := range members {
			queues["m"+strconv.Itoa(i)] = make(chan struct{}, 1)
		}
		sub, err := bus.OnWake(func(m string) {
			select {
			case queues[m] <- struct{}{}:
			default:
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(heap()-before)/members, "bytes/member")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/members, "goroutines/member")
		if err := sub.Close(); err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(queues)
	}
}

// heap is how many bytes live on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkEmbed is a start and a stop.
func BenchmarkEmbed(b *testing.B) {
	for b.Loop() {
		bus, err := Embed(Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := bus.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDial is what a command pays to reach a running team and ask once.
func BenchmarkDial(b *testing.B) {
	bus, _ := mustEmbed(b, Options{})
	if _, err := Respond(bus, mustTopic(b, "x"), func(Message[int]) (int, error) { return 0, nil }); err != nil {
		b.Fatal(err)
	}
	path := mustListen(b, bus, Identity{"operator", "_", 1})
	for b.Loop() {
		client, err := Dial(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := client.nc.Flush(); err != nil {
			b.Fatal(err)
		}
		if err := client.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
