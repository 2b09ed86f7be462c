package gateway

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPass measures what the gateway adds to a request beside a bare proxy in the same run: the
// medians and the 99th percentiles differ by added-p50-ms and added-p99-ms.
func BenchmarkPass(b *testing.B) {
	answer := strings.Repeat("event: content_block_delta\ndata: {\"delta\":{\"text\":\"some words of an answer\"}}\n\n", 50) +
		"data: {\"usage\":{\"output_tokens\":7}}\n\n"
	r := newRig(b, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer)
	})
	d, err := r.gate.Open(Access{Member: "ana", Hosts: map[string]Host{"anthropic": {URL: r.web.URL, Provider: "anthropic"}}})
	if err != nil {
		b.Fatal(err)
	}
	bare := bareProxy(b, r.web.URL)
	body := `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"` + strings.Repeat("text ", 20_000) + `"}]}`
	once := func(at string) time.Duration {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, at+"/v1/messages", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("X-Api-Key", d.Token())
		began := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != int64(len(answer)) {
			b.Fatalf("%d bytes, %v", n, err)
		}
		took := time.Since(began)
		_ = resp.Body.Close()
		return took
	}
	var through, past []time.Duration
	for b.Loop() { // one after the other, so that both meet the same load
		through, past = append(through, once(d.URL())), append(past, once(bare))
	}
	reportAdded(b, "", through, past)
}

// reportAdded reports by how much the medians and the 99th percentiles of two series differ.
func reportAdded(b *testing.B, of string, through, past []time.Duration) {
	b.Helper()
	slices.Sort(through)
	slices.Sort(past)
	for name, part := range map[string]int{"added-p50-ms": 50, "added-p99-ms": 99} {
		added := through[len(through)*part/100] - past[len(past)*part/100]
		b.ReportMetric(float64(added.Microseconds())/1000, of+name)
	}
}

// BenchmarkStreams measures what the gateway adds to a hundred streams at once, beside a hundred that pass a bare proxy
// at the same time: to the time until the first event of an answer, and to the way of each later event.
func BenchmarkStreams(b *testing.B) {
	const streams, length, pace = 2 * 100, 100, 20 * time.Millisecond
	var sent [streams][length]atomic.Int64 // when each event was sent, in nanoseconds of the run
	began := time.Now()
	r := newRig(b, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		n, _ := strconv.Atoi(req.Header.Get("Number"))
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for i := range length {
			if i > 0 {
				<-tick.C
				sent[n][i].Store(int64(time.Since(began)))
			}
			_, _ = io.WriteString(w, "data: {\"delta\":{\"text\":\"some words of an answer\"}}\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	})
	d := r.open(nil)
	ways := []string{d.URL(), bareProxy(b, r.web.URL)}
	body := `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"` + strings.Repeat("text ", 2000) + `"}]}`
	stream := func(n int) (took []time.Duration) {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, ways[n%2]+"/v1/messages", strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return nil
		}
		req.Header.Set("X-Api-Key", d.Token())
		req.Header.Set("Number", strconv.Itoa(n))
		sent[n][0].Store(int64(time.Since(began)))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Error(err)
			return nil
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if lines.Text() != "" && len(took) < length {
				took = append(took, time.Since(began)-time.Duration(sent[n][len(took)].Load()))
			}
		}
		if len(took) != length {
			b.Errorf("stream %d at %s has %d events: %v", n, ways[n%2], len(took), lines.Err())
			return nil
		}
		return took
	}
	var mu sync.Mutex
	var first, later [2][]time.Duration // by way
	for b.Loop() {
		var all sync.WaitGroup
		for n := range streams {
			time.Sleep(pace / 8) // as members begin, not all at one moment
			all.Go(func() {
				if took := stream(n); took != nil {
					mu.Lock()
					defer mu.Unlock()
					first[n%2], later[n%2] = append(first[n%2], took[0]), append(later[n%2], took[1:]...)
				}
			})
		}
		all.Wait()
	}
	if !b.Failed() {
		reportAdded(b, "first-", first[0], first[1])
		reportAdded(b, "", later[0], later[1])
	}
}

// bareProxy serves a proxy that does nothing else, and returns its URL.
func bareProxy(b *testing.B, host string) string {
	b.Helper()
	to, err := url.Parse(host)
	if err != nil {
		b.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(to) }, FlushInterval: -1, Transport: hosts()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // as the gateway, or it cuts streams off
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	return server.URL
}
