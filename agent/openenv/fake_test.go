package openenv

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/chat"
)

// fake is a server that says what the package's servers were recorded to say (scripts/goldens/openenv).
type fake struct {
	*httptest.Server
	schema   string
	recorded map[string]string // what was sent, as compact JSON: what was answered
	answers  map[string]string // by the type of a message, or for "connect": instead of what was recorded
	fullFor  int               // connections that find it full
	pings    bool              // before every answer
	asked    chan struct{}     // closed at the first step; nil for nobody

	full       string // what was recorded of a full server
	ponged     string
	token      string
	redirected bool
}

func newFake(t *testing.T, kind string) *fake {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", kind+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{recorded: map[string]string{}, answers: map[string]string{}}
	for line := range strings.Lines(string(data)) {
		if f.schema == "" {
			f.schema = line
			continue
		}
		v, err := chat.ParseValue([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		sent, answered := v.Items()[0], v.Items()[1]
		if f.recorded[canonical(sent)] = answered.String(); sent.Kind() == chat.KindNull {
			f.full = answered.String()
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/schema", func(w http.ResponseWriter, r *http.Request) {
		f.token = r.Header.Get("Authorization")
		io.WriteString(w, f.schema)
	})
	mux.HandleFunc("/elsewhere/schema", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/led", http.StatusFound) })
	mux.HandleFunc("/led", func(http.ResponseWriter, *http.Request) { f.redirected = true })
	mux.HandleFunc("/ws", f.talk)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// canonical is a message with the members in order.
func canonical(v chat.Value) string {
	var any any
	json.Unmarshal([]byte(v.String()), &any)
	data, _ := json.Marshal(any)
	return string(data)
}

func (f *fake) talk(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-WebSocket-Key")
	conn, both, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	both.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept(key) + "\r\n\r\n")
	both.Flush()
	if said := f.answers["connect"]; said != "" || f.fullFor > 0 {
		f.fullFor--
		if said == "" {
			said = f.full
		}
		send(conn, opText, said)
		return
	}
	for f.answer(conn, both.Reader) {
	}
}

// answer is one message and its answer; it reports whether the conversation goes on.
func (f *fake) answer(conn net.Conn, r *bufio.Reader) bool {
	text, ok := hear(r)
	if !ok {
		return false
	}
	message, err := chat.ParseValue([]byte(text))
	kind, _ := message.Get("type")
	if err != nil || kind.Text() == "close" {
		return false
	}
	if f.pings {
		send(conn, opPing, "are you there")
		f.ponged, _ = hear(r)
	}
	said, ok := f.answers[kind.Text()]
	if !ok {
		if said = f.recorded[canonical(message)]; said == "" {
			said = `{"type":"error","data":{"message":"not recorded: ` + strings.ReplaceAll(text, `"`, "'") + `","code":"EXECUTION_ERROR"}}`
		}
	}
	if f.asked != nil && kind.Text() == "step" {
		close(f.asked)
	}
	switch said {
	case "break":
		return false
	case "silence":
		io.Copy(io.Discard, r)
		return false
	case "close":
		send(conn, opClose, "\x03\xf3restarting")
		return false
	case "endless":
		conn.Write([]byte{0x80 | opText, 127, 0, 0, 0, 1, 0, 0, 0, 0})
		return false
	}
	// In two frames, as a server may.
	half := len(said) / 2
	conn.Write(frame(0, opText, said[:half]))
	conn.Write(frame(0x80, opContinue, said[half:]))
	return true
}

func send(w io.Writer, op byte, text string) { w.Write(frame(0x80, op, text)) }

func frame(last, op byte, text string) []byte {
	f := []byte{last | op}
	switch n := len(text); {
	case n < 126:
		f = append(f, byte(n))
	default:
		f = binary.BigEndian.AppendUint16(append(f, 126), uint16(n))
	}
	return append(f, text...)
}

// hear reads one frame of a client, which must be masked.
func hear(r *bufio.Reader) (string, bool) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || head[1]&0x80 == 0 {
		return "", false
	}
	size := int(head[1] & 0x7f)
	if size == 126 {
		var n [2]byte
		io.ReadFull(r, n[:])
		size = int(binary.BigEndian.Uint16(n[:]))
	}
	masked := make([]byte, 4+size)
	if _, err := io.ReadFull(r, masked); err != nil {
		return "", false
	}
	text := masked[4:]
	for i := range text {
		text[i] ^= masked[i%4]
	}
	return string(text), true
}

// FuzzFrames: whatever a server sends, reading ends and stays within bounds.
func FuzzFrames(f *testing.F) {
	f.Add(frame(0x80, opText, `{"type":"observation"}`))
	f.Add(append(frame(0, opText, "a"), frame(0x80, opContinue, "b")...))
	f.Add(frame(0x80, opPing, "x"))
	f.Add([]byte{0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &socket{conn: deaf{}}
		r := strings.NewReader(string(data))
		for {
			text, err := s.message(r)
			if err != nil {
				return
			}
			if v, err := chat.ParseValue([]byte(text)); err == nil {
				readAnswer(v)
			}
		}
	})
}

type deaf struct{}

func (deaf) Read([]byte) (int, error)    { return 0, io.EOF }
func (deaf) Write(p []byte) (int, error) { return len(p), nil }
func (deaf) Close() error                { return nil }
