package serve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHost: a server of this machine answers to its own names only, on every path, and never repeats Host in an address.
func TestHost(t *testing.T) {
	l := newLab(t, text("hi"), nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(l.url, "http://"))
	ask := func(method, path, host string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, l.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for _, path := range []string{"GET /", "GET /sessions", "POST /sessions", "GET /sessions/" + l.session.ID + "/export", "GET /rollouts",
		"GET /s/" + l.session.Key + "/v1/models", "POST /s/" + l.session.Key + "/v1/chat/completions", "GET /nothing", "GET /a..b"} {
		method, path, _ := strings.Cut(path, " ")
		for _, host := range []string{"evil.example", "evil.example:" + port, "localhost.evil.example", "127.0.0.1.evil.example", "8.8.8.8", "[2001:db8::1]:1"} {
			if status, body := ask(method, path, host); status != 403 || !strings.Contains(body, "this machine only") {
				t.Errorf("%s %s of %s: %d %s", method, path, host, status, body)
			}
		}
	}
	for _, host := range []string{"localhost", "localhost:1", "127.0.0.1:" + port, "[::1]:2", "127.0.0.2"} {
		status, body := ask("POST", "/sessions", host)
		var o Opened
		if err := json.Unmarshal([]byte(body), &o); status != 200 || err != nil || o.Base != l.url+"/s/"+o.Key {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
}

// TestAddress: a server that others reach is called what they call it.
func TestAddress(t *testing.T) {
	for _, c := range []struct{ listens, target, want string }{
		{"127.0.0.1:80", "http://localhost:9", "http://127.0.0.1:80"},
		{"127.0.0.1:80", "https://localhost:9", "https://localhost:80"},
		{"[::1]:80", "http://localhost:9", "http://[::1]:80"},
		{"0.0.0.0:80", "https://molt.example:9", "https://molt.example:9"},
	} {
		at, err := net.ResolveTCPAddr("tcp", c.listens)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", c.target+"/sessions", nil)
		if got := address(r.WithContext(context.WithValue(r.Context(), listening{}, net.Addr(at)))); got != c.want {
			t.Errorf("on %s, asked at %s: %s; want %s", c.listens, c.target, got, c.want)
		}
	}
}
