// The client's half of WebSocket (RFC 6455): text messages to and fro, pings answered at once, no extensions.

package openenv

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxMessage bounds a message of the server, in bytes.
const maxMessage = 16 << 20

// The opcodes of frames.
const (
	opContinue = 0
	opText     = 1
	opClose    = 8
	opPing     = 9
	opPong     = 10
)

// socket is an open connection.
type socket struct {
	conn io.ReadWriteCloser
	in   chan string   // messages of the server; sent by listen, which closes it
	why  error         // of its end; set before in is closed
	over chan struct{} // closed by close: nobody takes messages any more

	mu   sync.Mutex // one frame at a time
	once sync.Once  // of close
}

// dial opens one. header is sent along.
func dial(ctx context.Context, client *http.Client, url string, header http.Header) (*socket, error) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the connection outlives the handshake's deadline
	defer context.AfterFunc(ctx, cancel)()
	request, err := http.NewRequestWithContext(lasting, http.MethodGet, url, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	var nonce [16]byte
	rand.Read(nonce[:]) // it never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	request.Header = header.Clone()
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key} {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		cancel()
		return nil, err
	}
	conn, ok := response.Body.(io.ReadWriteCloser)
	if response.StatusCode != http.StatusSwitchingProtocols || !ok {
		response.Body.Close()
		cancel()
		return nil, fmt.Errorf("%s answered %s; want a WebSocket", url, response.Status)
	}
	if response.Header.Get("Sec-WebSocket-Accept") != accept(key) || !strings.EqualFold(response.Header.Get("Upgrade"), "websocket") {
		conn.Close()
		cancel()
		return nil, fmt.Errorf("%s answered another's handshake", url)
	}
	s := &socket{conn: closing{conn, cancel}, in: make(chan string), over: make(chan struct{})}
	go s.listen() // close waits for it
	return s, nil
}

// closing ends the connection's context with it.
type closing struct {
	io.ReadWriteCloser
	cancel context.CancelFunc
}

func (c closing) Close() error {
	defer c.cancel()
	return c.ReadWriteCloser.Close()
}

// accept is what a server answers to a key.
func accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// listen hands on messages until the connection ends.
func (s *socket) listen() {
	defer close(s.in)
	r := bufio.NewReader(s.conn)
	for {
		text, err := s.message(r)
		if err != nil {
			s.why = err
			s.conn.Close()
			return
		}
		select {
		case s.in <- text:
		case <-s.over:
			s.why = io.ErrClosedPipe
			return
		}
	}
}

// message reads frames until a message is whole.
func (s *socket) message(r io.Reader) (string, error) {
	var whole []byte
	begun := false
	for {
		op, last, payload, err := readFrame(r, maxMessage-len(whole))
		if err != nil {
			return "", err
		}
		switch op {
		case opPing:
			if err := s.write(opPong, payload); err != nil {
				return "", err
			}
			continue
		case opPong:
			continue
		case opClose:
			s.write(opClose, payload) // it is closed whether or not it hears this
			return "", closed(payload)
		}
		if begun != (op == opContinue) {
			return "", errors.New("a message began in another")
		}
		whole, begun = append(whole, payload...), true
		if last {
			if !utf8.Valid(whole) {
				return "", errors.New("a message is not UTF-8")
			}
			return string(whole), nil
		}
	}
}

// closed says why the server closed the connection.
func closed(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the server closed the connection")
	}
	return fmt.Errorf("the server closed the connection with code %d %s", binary.BigEndian.Uint16(payload), strings.ToValidUTF8(string(payload[2:]), "\uFFFD"))
}

// readFrame reads one frame of at most so many bytes.
func readFrame(r io.Reader, most int) (op byte, last bool, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, false, nil, err
	}
	op, last = head[0]&0xf, head[0]&0x80 != 0
	size := uint64(head[1])
	switch {
	case head[0]&0x70 != 0 || head[1]&0x80 != 0 || op != opContinue && op != opText && op < opClose || op > opPong:
		return 0, false, nil, fmt.Errorf("a frame begins with %x, which no text of a server does", head)
	case op >= opClose && (!last || size > 125):
		return 0, false, nil, errors.New("a control frame is too long")
	case size == 126:
		var n [2]byte
		_, err = io.ReadFull(r, n[:])
		size = uint64(binary.BigEndian.Uint16(n[:]))
	case size == 127:
		var n [8]byte
		_, err = io.ReadFull(r, n[:])
		size = binary.BigEndian.Uint64(n[:])
	}
	if err == nil && op < opClose && size > uint64(most) {
		err = fmt.Errorf("a message has more than %d bytes", maxMessage)
	}
	if err != nil {
		return 0, false, nil, err
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return op, last, payload, err
}

// write sends one whole frame.
func (s *socket) write(op byte, payload []byte) error {
	frame := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	var mask [4]byte
	rand.Read(mask[:]) // it never fails
	frame = append(frame, mask[:]...)
	for i, b := range payload {
		frame = append(frame, b^mask[i%4])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.Write(frame)
	return err
}

// say sends a text message.
func (s *socket) say(text string) error { return s.write(opText, []byte(text)) }

// close ends the connection and waits for its listener.
func (s *socket) close() {
	s.once.Do(func() {
		close(s.over)
		s.conn.Close()
	})
	for range s.in {
	}
}
