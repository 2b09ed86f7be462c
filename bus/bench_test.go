package bus

import (
	"context"
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

// contest times competitors in turns, a batch of operations each in every
// round. It reports the median time of one operation of each, and how that of
// the first relates to the others'.
func contest(b *testing.B, batch int, names []string, run []func(n int)) {
	b.Helper()
	times := make([][]float64, len(run))
	for range max(rounds, b.N/batch) {
		for i, f := range run {
			begin := time.Now()
			f(batch)
			times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/float64(batch))
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
	if _, err := Handle(bus, "echo", func(_ context.Context, _ Caller, text string) (string, error) { return text, nil }); err != nil {
		b.Fatal(err)
	}
	if _, err := bus.subscribe("raw", func(d delivery) {
		if err := d.Respond(d.Data); err != nil {
			b.Error(err)
		}
	}, nil); err != nil {
		b.Fatal(err)
	}
	text := payload()
	overTCP := natsOverTCP(b)
	contest(b, 4, []string{"typed", "raw", "nats-tcp", "chan", "bare-tcp"}, []func(int){
		func(n int) {
			for range n {
				if got, err := Ask[string, string](b.Context(), bus, "echo", text); err != nil ||
					got != text {
					b.Fatal(err)
				}
			}
		},
		rawEcho(b, bus.nc, "raw", text), rawEcho(b, overTCP, "echo", text),
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

// BenchmarkMail1000 carries mail to 1,000 members: over the one shared connection with
// one wildcard subscription, as covey does, and over a connection for each. No message may
// be lost.
func BenchmarkMail1000(b *testing.B) {
	const members = 1000
	bus, _ := mustEmbed(b, Options{MaxConns: members + 1})
	names := make([]string, members)
	for i := range names {
		names[i] = "m" + strconv.Itoa(i)
	}
	text := []byte(payload())
	var heard sync.WaitGroup
	if _, err := bus.OnMail(func(string, []byte) { heard.Done() }, nil); err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		defer ownConnection(b, bus, name, func(delivery) { heard.Done() }).Close()
	}
	contest(b, members, []string{"shared", "each"}, []func(int){
		func(n int) {
			heard.Add(n)
			for i := range n {
				if err := bus.Mail(names[i%members], text); err != nil {
					b.Fatal(err)
				}
			}
			heard.Wait()
		},
		func(n int) {
			heard.Add(n)
			for i := range n {
				if err := bus.publish(Subject("each."+names[i%members]), text); err != nil {
					b.Fatal(err)
				}
			}
			heard.Wait()
		},
	})
}

// BenchmarkIdleMember is what a member that waits costs: a queue and a
// goroutine of its own behind the one subscription, and beside it what a
// connection of its own would cost.
func BenchmarkIdleMember(b *testing.B) {
	const members, connections = 10_000, 500
	bus, _ := mustEmbed(b, Options{MaxConns: connections + 1})
	bytes, goroutines := cost(members, func() (end func()) {
		queues := make(map[string]chan struct{}, members)
		var waiting sync.WaitGroup
		for i := range members {
			queue := make(chan struct{}, 1)
			queues["m"+strconv.Itoa(i)] = queue
			waiting.Go(func() { <-queue })
		}
		sub, err := bus.OnMail(func(m string, _ []byte) { queues[m] <- struct{}{} }, nil)
		if err != nil {
			b.Fatal(err)
		}
		return func() {
			for name := range queues { // each must hear of it
				if err := bus.Mail(name, nil); err != nil {
					b.Fatal(err)
				}
			}
			waiting.Wait()
			if err := sub.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(bytes, "B/member")
	b.ReportMetric(goroutines, "goroutines/member")
	bytes, goroutines = cost(connections, func() (end func()) {
		var conns []*nats.Conn
		for i := range connections {
			conns = append(conns, ownConnection(b, bus, "m"+strconv.Itoa(i), func(delivery) {}))
		}
		return func() {
			for _, nc := range conns {
				nc.Close()
			}
		}
	})
	b.ReportMetric(bytes, "B/connection")
	b.ReportMetric(goroutines, "goroutines/connection")
	b.ReportMetric(0, "ns/op")
}

// cost is what each of n things that begin makes takes until they end.
func cost(n int, begin func() (end func())) (bytes, goroutines float64) {
	heapBefore, before := heap(), runtime.NumGoroutine()
	end := begin()
	bytes = float64(heap()-heapBefore) / float64(n)
	goroutines = float64(runtime.NumGoroutine()-before) / float64(n)
	end()
	return bytes, goroutines
}

// ownConnection is a member with a connection and a subscription of its own.
func ownConnection(b *testing.B, bus *Bus, name string, f func(delivery)) *nats.Conn {
	o := bus.clientOptions(bus.grants.mint(nil), ConnID(name))
	o.InProcessServer = bus.srv
	o.ClosedCB = nil
	nc, err := o.Connect()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := nc.Subscribe("each."+name, f); err != nil {
		b.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		b.Fatal(err)
	}
	return nc
}

// heap is how many bytes live on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
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
	path := mustListen(b, bus, Identity{Kind: "operator", Name: "_", PID: 1})
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
