package openenv

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestCloseOfADeafServer: one that sends pings and reads no answers holds nobody up.
func TestCloseOfADeafServer(t *testing.T) {
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "+accept(r.Header.Get("Sec-WebSocket-Key"))+"\r\n\r\n")
		ping := append([]byte{0x80 | opPing, 125}, make([]byte, 125)...)
		for err == nil {
			_, err = conn.Write(ping)
		}
	}))
	defer deaf.Close()
	server, err := newServer(deaf.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // until no pong goes out any more
	closed := make(chan struct{})
	go func() { defer close(closed); s.close() }()
	select {
	case <-closed:
	case <-time.After(10 * goodbye):
		t.Error("close waits for a server that does not read")
		s.socket.conn.Close()
		<-closed
	}
}
