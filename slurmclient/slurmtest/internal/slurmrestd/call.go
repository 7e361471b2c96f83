package slurmrestd

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// call is one request in progress.
type call struct {
	*Server
	recordWriters *writers
	w             http.ResponseWriter
	r             *http.Request
	route         route
	version       string
	pathValue     string // the value of the path's placeholder
	user          string
	fault         FaultKind
}

// problem is one entry of an answer's errors or warnings.
type problem struct {
	number      int
	slurmText   string // Slurm's text for the number
	description string
	source      string
}

// fail answers with one error, described as the route's failure.
func (k *call) fail(status, number int) { k.failAbout(status, number, k.route.failure.description) }

func (k *call) failAbout(status, number int, text string) {
	k.answer(status, nil, []problem{{number: number, slurmText: errno.Text(number), description: text,
		source: k.route.failure.source}}, nil)
}

// refuse answers with an error that the client caused. The HTTP status depends on the release.
func (k *call) refuse(number int, text string) {
	if number == errno.InvalidFlag {
		k.failAbout(http.StatusInternalServerError, number, text)
		return
	}
	k.failAbout(k.refusalStatus(), number, text)
}

func (k *call) refusalStatus() int {
	if k.cfg.Release == slurmctld.Release2411 {
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// answerWriter streams an answer.
type answerWriter struct {
	*template.Writer
	dest   io.Writer
	failed bool // the client is gone
}

// maxBuffer is how many bytes of an answer are buffered before they are sent.
const maxBuffer = 64 << 10

func (o *answerWriter) flush(limit int) {
	if o.Len() < limit {
		return
	}
	if !o.failed {
		_, err := o.dest.Write(o.Bytes())
		o.failed = err != nil
	}
	o.Reset()
}

// answer writes a whole answer: the members that body writes, then meta, errors and warnings. As in
// slurmrestd, an answer without a body starts with its errors.
func (k *call) answer(status int, body func(*answerWriter), errs, warnings []problem) {
	k.w.Header().Set("Content-Type", "application/json")
	k.w.WriteHeader(status)
	o := &answerWriter{Writer: template.NewWriter(styleOf(k.cfg)), dest: k.w}
	o.Object()
	if body != nil {
		body(o)
		k.writeMeta(o)
	}
	o.Key("errors")
	writeProblems(o, errs, true)
	o.Key("warnings")
	writeProblems(o, warnings, false)
	if body == nil {
		k.writeMeta(o)
	}
	o.EndObject()
	o.Literal("\n")
	o.flush(0)
}

func (k *call) writeMeta(o *answerWriter) {
	plugin, source := "slurmctld", "127.0.0.1:6820(fd:9)"
	if k.route.isDatabase() {
		plugin = "slurmdbd"
	}
	if k.cfg.Release == slurmctld.Release2411 {
		source = "[localhost]:6820(fd:9)"
	}
	storage := "accounting_storage/slurmdbd"
	if k.cfg.NoAccounting {
		storage = ""
	}
	release := k.cfg.FullRelease()
	v := strings.Split(release, ".")
	text := func(key, value string) { o.Key(key); o.String(value) }
	open := func(key string) { o.Key(key); o.Object() }
	open("meta")
	open("plugin")
	text("type", "openapi/"+plugin)
	text("name", "Slurm OpenAPI "+plugin)
	text("data_parser", "data_parser/"+k.version)
	text("accounting_storage", storage)
	o.EndObject()
	open("client")
	text("source", source)
	text("user", "root")
	text("group", "root")
	o.EndObject()
	o.Key("command")
	o.Strings()
	open("slurm")
	open("version")
	text("major", v[0])
	text("micro", v[2])
	text("minor", v[1])
	o.EndObject()
	text("release", release)
	text("cluster", k.cfg.ClusterName)
	o.EndObject()
	o.EndObject()
}

func writeProblems(o *answerWriter, list []problem, numbered bool) {
	o.Array()
	for _, p := range list {
		o.Item()
		o.Object()
		o.Key("description")
		o.String(p.description)
		if numbered {
			o.Key("error_number")
			o.Int(int64(p.number))
			o.Key("error")
			o.String(p.slurmText)
		}
		o.Key("source")
		o.String(p.source)
		o.EndObject()
	}
	o.EndArray()
}

// writeList writes a member whose value is an array of records.
func writeList[T any](o *answerWriter, key string, t *template.Template[T], list []T) {
	o.Key(key)
	o.Array()
	for _, v := range list {
		o.Item()
		t.Append(o.Writer, v)
		o.flush(maxBuffer)
	}
	o.EndArray()
}

func writeTime(o *answerWriter, key string, t slurm.Time) {
	o.Key(key)
	o.Number(slurm.Num(uint64(t)))
}

// decodeBody decodes the request's JSON. If it cannot, it answers with an error and returns false.
func (k *call) decodeBody(into any) bool {
	kind, _, err := mime.ParseMediaType(k.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		writePlainText(k.w, http.StatusUnsupportedMediaType, "Unsupported media type")
		return false
	}
	text, err := io.ReadAll(io.LimitReader(k.r.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		writePlainText(k.w, http.StatusBadRequest, "Unable to parse the request: "+err.Error())
		return false
	}
	return true
}
