package api

import (
	"testing"
	"time"
)

// A code lets one browser in, once and not for long; the oldest of many is dropped.
func TestPageCodes(t *testing.T) {
	t.Parallel()
	p := &Page{Public: func() string { return "https://team.example.com" }}
	web := func(r WebPage) WebPage {
		t.Helper()
		reply, err := p.Web(t.Context(), r)
		if err != nil || reply.Public != "https://team.example.com" {
			t.Fatalf("%+v, %v", reply, err)
		}
		return reply
	}
	first := web(WebPage{URL: "http://127.0.0.1:1/?token=x", NewCode: true})
	if first.URL != "http://127.0.0.1:1/?token=x" || len(first.Code) != codeSize || p.URL() != first.URL {
		t.Errorf("%+v", first)
	}
	for _, code := range []string{"", first.Code[1:], first.Code + "X"} {
		if got := web(WebPage{Code: code}); got.Code != "" {
			t.Errorf("the code %q is good", code)
		}
	}
	if got := web(WebPage{Code: first.Code}); got.Code != first.Code || got.URL != first.URL {
		t.Errorf("its first use: %+v", got)
	}
	if got := web(WebPage{Code: first.Code}); got.Code != "" {
		t.Errorf("its second use: %+v", got)
	}
	var made []string
	for range maxCodes + 1 {
		made = append(made, web(WebPage{NewCode: true}).Code)
	}
	p.codes[0].until = time.Now()
	for i, want := range []bool{false, false, true} {
		if got := web(WebPage{Code: made[i]}); (got.Code != "") != want {
			t.Errorf("code %d of %d: %+v", i, len(made), got)
		}
	}
}
