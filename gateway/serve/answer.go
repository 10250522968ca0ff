// Answers of the policy: whole, or piece by piece as it is sampled.

package serve

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"molt/gateway/anthropic"
	"molt/gateway/capture"
	"molt/gateway/wire"
)

// answer reads a request, asks the session, and writes the reply.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect, session *capture.Session) {
	control := http.NewResponseController(w)
	request, p := s.request(w, r, control, d, session)
	if p != nil {
		s.fail(w, r, d, p)
		return
	}
	if d.count {
		s.count(w, r, d, session, request)
		return
	}
	call, p := session.Ask(r.Context(), request, caller(r))
	if p != nil {
		s.fail(w, r, d, p)
		return
	}
	delivered := false
	defer func() { call.Close(delivered) }()
	if request.Stream {
		out := &outlet{server: s, w: w, control: control, stream: d.stream(s, request), call: call}
		if delivered = out.run(r, d); out.broken {
			panic(http.ErrAbortHandler)
		}
		return
	}
	whole, p := call.Whole(r.Context())
	if p != nil {
		s.fail(w, r, d, p)
		return
	}
	here := r.Context().Err() == nil // a client may hang up as soon as it has everything
	_ = control.SetWriteDeadline(time.Now().Add(s.config.Write))
	reply(w, http.StatusOK, d.encode(s, request, whole))
	delivered = control.Flush() == nil && here
}

// buffers hold bodies while they are read; nothing of a body is kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the most bytes of a buffer that waits for the next body.
const maxBuffer = 4 << 20

// request reads a request from its body.
func (s *Server) request(w http.ResponseWriter, r *http.Request, control *http.ResponseController, d dialect, session *capture.Session) (*wire.Request, *wire.Problem) {
	buffer := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buffer) <= maxBuffer {
			buffers.Put(buffer)
		}
	}()
	body, p := s.body(w, r, control, *buffer)
	if p != nil {
		return nil, p
	}
	*buffer = body
	return d.decode(session, body)
}

// body reads the whole body into a buffer, within its limits.
func (s *Server) body(w http.ResponseWriter, r *http.Request, control *http.ResponseController, buffer []byte) ([]byte, *wire.Problem) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &wire.Problem{Class: wire.BadMedia, Message: "the body is coded as " + coding[:min(len(coding), 40)] + "; send it as it is"}
	}
	if r.ContentLength > s.config.Body {
		return nil, s.tooLarge()
	}
	_ = control.SetReadDeadline(time.Now().Add(s.config.Read)) // where that is not possible, there is no limit
	buffer = slices.Grow(buffer[:0], int(max(r.ContentLength, 0))+512)
	body, err := readAll(http.MaxBytesReader(w, r.Body, s.config.Body), buffer)
	if err != nil {
		w.Header().Set("Connection", "close") // the deadline stays, so that what is left of the body is not waited for
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, s.tooLarge()
	}
	if err != nil {
		return nil, &wire.Problem{Class: wire.Bad, Message: "the body did not arrive"}
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, nil
}

func (s *Server) tooLarge() *wire.Problem {
	return &wire.Problem{Class: wire.TooLarge, Message: "the body is too large"}
}

func readAll(r io.Reader, b []byte) ([]byte, error) {
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

func (s *Server) count(w http.ResponseWriter, r *http.Request, d dialect, session *capture.Session, request *wire.Request) {
	n, p := session.Count(request)
	if p != nil {
		s.fail(w, r, d, p)
		return
	}
	body := anthropic.Count(n)
	if r.Header.Get("anthropic-version") == "" {
		body = append([]byte(`{"object":"response.input_tokens",`), body[1:]...)
	}
	reply(w, http.StatusOK, body)
}

// outlet writes one stream.
type outlet struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
	stream  wire.Stream
	call    *capture.Call
	buffer  []byte
	begun   bool
	broken  bool // the connection must be cut
}

// run reports whether the client has the whole reply. An error before the first piece has its own status; the first piece, or
// the first time that nothing has come for a while, sends the headers.
func (o *outlet) run(r *http.Request, d dialect) bool {
	tick := time.NewTicker(o.server.config.Alive)
	defer tick.Stop()
	for {
		deltas, p := o.call.Next(r.Context(), tick.C)
		switch {
		case p != nil && !o.begun:
			o.server.fail(o.w, r, d, p)
			return false
		case p != nil && d.hangs && p.Class == wire.Overloaded:
			o.broken = true
			return false
		case p != nil:
			o.buffer = o.stream.Fail(o.buffer[:0], p)
			_ = o.flush()
			return false
		}
		o.buffer = o.buffer[:0]
		if !o.begun {
			o.begin()
		}
		for _, delta := range deltas {
			if delta.Kind == wire.Idle {
				o.buffer = o.stream.Alive(o.buffer)
			} else {
				o.buffer = o.stream.Delta(o.buffer, delta)
			}
		}
		if len(deltas) == 0 {
			for i, e := range o.call.Ends() {
				o.buffer = o.stream.End(o.buffer, i, e)
			}
			o.buffer = o.stream.Close(o.buffer)
		}
		here := r.Context().Err() == nil // a client may hang up as soon as it has everything
		if err := o.flush(); err != nil {
			return false
		}
		if len(deltas) == 0 {
			return here
		}
	}
}

func (o *outlet) begin() {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	o.w.WriteHeader(http.StatusOK)
	o.buffer = o.stream.Start(o.buffer, o.call.Meta)
	o.begun = true
}

func (o *outlet) flush() error {
	_ = o.control.SetWriteDeadline(time.Now().Add(o.server.config.Write)) // where that is not possible, there is no limit
	if _, err := o.w.Write(o.buffer); err != nil {
		return err
	}
	return o.control.Flush()
}
