// Bodies, read whole before anything is made of them, within limits: the bytes of one, the time of one, the bytes of all.

package serve

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"molt/gateway/capture"
	"molt/gateway/wire"
)

// buffers hold bodies while they are read; nothing of a body is kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	maxBuffer   = 4 << 20 // bytes of a buffer that waits for the next body
	firstBuffer = 1 << 20 // bytes that a client is given on its word; more when they have come
)

// request reads a request from its body.
func (s *Server) request(w http.ResponseWriter, r *http.Request, control *http.ResponseController, d dialect, session *capture.Session) (*wire.Request, *wire.Problem) {
	buffer := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buffer) <= maxBuffer {
			buffers.Put(buffer)
		}
	}()
	body, done, p := s.body(w, r, control, *buffer)
	defer done()
	if p != nil {
		return nil, p
	}
	*buffer = body
	return d.decode(session, body)
}

// errCrowded says that the bodies that are being read take up as much as they may.
var errCrowded = errors.New("too much is being sent at once: try again")

// body reads the whole body into a buffer, within its limits. done must be called when the body is not needed any more.
func (s *Server) body(w http.ResponseWriter, r *http.Request, control *http.ResponseController, buffer []byte) (body []byte, done func(), p *wire.Problem) {
	in := &inbound{server: s}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, in.done, &wire.Problem{Class: wire.BadMedia, Message: "the body is coded as " + coding[:min(len(coding), 40)] + "; send it as it is"}
	}
	if r.ContentLength > s.config.Body {
		return nil, in.done, tooLarge
	}
	_ = control.SetReadDeadline(time.Now().Add(s.config.Read)) // where that is not possible, there is no limit
	body, err := in.read(http.MaxBytesReader(w, r.Body, s.config.Body), buffer[:0], min(max(r.ContentLength, 0)+512, firstBuffer))
	if err != nil {
		w.Header().Set("Connection", "close") // the deadline stays, so that what is left of the body is not waited for
	}
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return nil, in.done, tooLarge
	case errors.Is(err, errCrowded):
		return nil, in.done, &wire.Problem{Class: wire.Overloaded, Message: err.Error(), Retry: 1}
	case err != nil:
		return nil, in.done, &wire.Problem{Class: wire.Bad, Message: "the body did not arrive"}
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, in.done, nil
}

var tooLarge = &wire.Problem{Class: wire.TooLarge, Message: "the body is too large"}

// inbound is the part of one body in the bytes of all.
type inbound struct {
	server *Server
	bytes  int64
}

// read reads to the end, into a buffer that grows as bytes come.
func (in *inbound) read(r io.Reader, b []byte, size int64) ([]byte, error) {
	for {
		if in.bytes < size {
			if in.server.bodies.Add(size-in.bytes) > in.server.config.Bodies {
				in.server.bodies.Add(in.bytes - size)
				return nil, errCrowded
			}
			in.bytes = size
			b = slices.Grow(b, int(size)-len(b))
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			size = 2 * int64(cap(b))
		}
	}
}

// done gives the bytes back.
func (in *inbound) done() { in.server.bodies.Add(-in.bytes) }
