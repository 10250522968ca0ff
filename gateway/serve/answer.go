// Answers of the policy: whole, or piece by piece as it is sampled.

package serve

import (
	"net/http"
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
