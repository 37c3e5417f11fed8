package mcpadapter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// maxAnswer is the most that an answer may hold, in bytes.
const maxAnswer = 16 << 20

var errAnswerTooLarge = errors.New("the answer is too large")

// exchange sends a message on and brings back what answers it. There is always
// something, whatever became of the request.
func (s *session) exchange(ctx context.Context, x *exchange) []byte {
	answer := s.ask(ctx, x)
	if repeats(answer, s.token) {
		return s.outage(x, errEcho)
	}
	return answer
}

// repeats says whether an answer holds the credential, as it stands or in any spelling
// that JSON has for it. An answer may hold JSON as text, an envelope within the content
// of a result, and so on: what is spelt out is looked at again.
func repeats(answer []byte, token string) bool {
	for text := answer; ; {
		if bytes.Contains(text, []byte(token)) {
			return true
		}
		plain := unescaped(text)
		if len(plain) == len(text) {
			return false
		}
		text = plain
	}
}

// unescaped spells out each escape of JSON in a text, wherever it stands. It is shorter
// than the text if there was one.
func unescaped(text []byte) []byte {
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	out := append(make([]byte, 0, len(text)), text[:at]...)
	for i := at; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		if text[i] == 'u' && i+4 < len(text) {
			if n, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16); err == nil {
				out = utf8.AppendRune(out, rune(n))
				i += 4
				continue
			}
		}
		out = append(out, text[i]) // \n as n: no credential has what it stands for
	}
	return out
}

var errEcho = errors.New("the answer repeated the credential")

func (s *session) ask(ctx context.Context, x *exchange) []byte {
	r, err := x.request(ctx, s.Bridge)
	if err != nil {
		return s.outage(x, err)
	}
	res, err := s.transport.RoundTrip(r)
	if err != nil {
		return s.outage(x, because(ctx, err))
	}
	defer res.Body.Close()
	if x.silent {
		if res.StatusCode >= http.StatusMultipleChoices {
			s.opts.Logger.Warn("a notification was not taken", "status", res.StatusCode)
		}
		return nil
	}
	answer, body, err := x.find(res)
	switch {
	case err != nil:
		return s.outage(x, because(ctx, err))
	case answer == nil:
		return s.instead(x, res.StatusCode, body)
	}
	if version := versionIn(answer); x.method == methodInitialize && version != "" {
		s.settle(version)
	}
	return answer
}

// because prefers the reason that a request was given up for.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// find looks for the answer to x: the body, or the first event that is one.
func (x *exchange) find(res *http.Response) (answer, body []byte, err error) {
	limited := &io.LimitedReader{R: res.Body, N: maxAnswer + 1}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/event-stream" {
		answer, err = x.findEvent(bufio.NewReader(limited))
	} else if body, err = io.ReadAll(limited); err == nil {
		answer = x.answerIn(body)
	}
	if answer == nil && limited.N <= 0 {
		return nil, nil, errAnswerTooLarge
	}
	return answer, body, err
}

// findEvent reads an event stream until one of its messages answers x. Whatever
// else it says is for nobody: reeve's servers send nothing besides.
func (x *exchange) findEvent(in *bufio.Reader) ([]byte, error) {
	var data []byte
	for {
		field, err := in.ReadBytes('\n')
		field = bytes.TrimRight(field, "\r\n")
		if more, ok := bytes.CutPrefix(field, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(more, []byte(" "))...), '\n')
		}
		if len(field) == 0 || err != nil {
			if answer := x.answerIn(data); answer != nil {
				return answer, nil
			}
			data = nil
		}
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// versionIn is the protocol version that a handshake's answer settles on, or
// empty where it settles on none.
func versionIn(answer []byte) string {
	var a struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &a) != nil || !versionForm.MatchString(a.Result.ProtocolVersion) {
		return ""
	}
	return a.Result.ProtocolVersion
}

// instead answers x where the server answered something else: what the envelope
// in the body says, if there is one.
func (s *session) instead(x *exchange, status int, body []byte) []byte {
	if x.wrong != nil {
		return x.local()
	}
	if a, ok := envelopeIn(body); ok {
		if x.call {
			return x.result(a.Answer)
		}
		code := int64(jsonrpc.CodeInvalidRequest)
		if a.Verdict == "unavailable" {
			code = jsonrpc.CodeInternalError
		}
		return x.problem(code, a.Message, a.JSON)
	}
	s.opts.Logger.Warn("what answers is not reeve, or is in trouble", "status", status)
	return x.unavailable("What answers at %s is not reeve, or is in trouble: it answered with status %d.", s.place(), status)
}

// told is an envelope that came as the body of an answer.
type told struct {
	powers.Answer
	Verdict, Reason, Message string
}

func envelopeIn(body []byte) (told, bool) {
	var e struct {
		OK      *bool
		Retry   bool
		Verdict string
		Reason  string
		Message string
	}
	if json.Unmarshal(body, &e) != nil || e.OK == nil || *e.OK || e.Verdict == "" || e.Reason == "" {
		return told{}, false
	}
	var plain bytes.Buffer
	if json.Indent(&plain, body, "", "  ") != nil {
		return told{}, false
	}
	failed := e.Verdict == "deny" || e.Verdict == "unavailable" && !e.Retry
	return told{Answer: powers.Answer{JSON: plain.Bytes(), IsError: failed}, Verdict: e.Verdict, Reason: e.Reason, Message: e.Message}, true
}

// outage answers x where the server did not, and says why in the log.
func (s *session) outage(x *exchange, err error) []byte {
	if !errors.Is(err, errCancelled) {
		s.opts.Logger.Warn("the server did not answer", "error", strings.ReplaceAll(err.Error(), s.token, "…"))
	}
	if x.wrong != nil {
		return x.local()
	}
	var number syscall.Errno
	switch {
	case errors.Is(err, errTooSlow):
		return x.unavailable("The server did not answer within %s; whether it did what was asked is not known.", s.opts.AnswerTimeout)
	case errors.Is(err, errUnsent):
		return x.unavailable("The connection was ended before this was sent on; nothing was done.")
	case errors.Is(err, errCrowded):
		return x.unavailable("%d messages are under way, and too many wait; this one was not sent on. Try again once some of them are answered.", maxUnderWay)
	case errors.Is(err, errStopping):
		return x.unavailable("The connection was ended before the answer came; whether the server did what was asked is not known.")
	case errors.Is(err, errEcho):
		return x.unavailable("What answers at %s repeated the credential, and was not passed on.", s.place())
	case errors.Is(err, errAnswerTooLarge):
		return x.unavailable("The answer holds more than %d bytes, and was not passed on.", maxAnswer)
	case errors.As(err, &number):
		return x.unavailable("The server at %s cannot be reached: %s.", s.place(), number.Error())
	}
	return x.unavailable("The server at %s cannot be reached, or broke off.", s.place())
}

// place is the endpoint as it may be shown.
func (s *session) place() string { return s.endpoint.Scheme + "://" + s.endpoint.Host }

func (x *exchange) unavailable(format string, args ...any) []byte {
	r := operator.Refuse(operator.ReasonUnavailable, format, args...)
	a := powers.Unrecorded(x.action(), r)
	if x.call {
		return x.result(a)
	}
	return x.problem(jsonrpc.CodeInternalError, r.Message, a.JSON)
}
