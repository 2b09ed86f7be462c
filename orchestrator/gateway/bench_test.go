package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
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
	to, err := url.Parse(r.web.URL)
	if err != nil {
		b.Fatal(err)
	}
	bare := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(to) }, FlushInterval: -1})
	defer bare.Close()
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
		through, past = append(through, once(d.URL())), append(past, once(bare.URL))
	}
	slices.Sort(through)
	slices.Sort(past)
	for name, part := range map[string]int{"added-p50-ms": 50, "added-p99-ms": 99} {
		at := len(through) * part / 100
		b.ReportMetric(float64((through[at]-past[at]).Microseconds())/1000, name)
	}
}
