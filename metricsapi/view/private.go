package view

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Private is what slurm.conf's PrivateData keeps from users whom it is not about, as
// far as it touches what is shown here.
type Private struct{ Jobs, Nodes, Partitions bool }

// ParsePrivate reads the value of PrivateData, such as "jobs,nodes"; "none" and "all"
// are understood too. A word that slurm.conf(5) does not have is an error.
func ParsePrivate(text string) (Private, error) {
	var p Private
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		switch strings.TrimSpace(word) {
		case "jobs":
			p.Jobs = true
		case "nodes":
			p.Nodes = true
		case "partitions":
			p.Partitions = true
		case "all":
			p = everything()
		case "", "none", "accounts", "cloud", "events", "reservations", "usage", "users":
		default:
			return Private{}, fmt.Errorf("PrivateData has no %q", word)
		}
	}
	return p, nil
}

// Settings are where a cluster's PrivateData may be known from, beside its slurmctld.
type Settings struct {
	// Annotations are those of the cluster's object.
	Annotations map[string]string
	// Configured is true where slurm.conf is made of the object, with ExtraConf in it.
	Configured bool
	ExtraConf  string
	// Unknown is what counts as private where nothing tells.
	Unknown Private
}

// everything is kept where what tells of it can not be read.
func everything() Private { return Private{Jobs: true, Nodes: true, Partitions: true} }

// PrivateOf decides what is private: what the annotation says, else what slurmctld
// told, else what slurm.conf says where it is made here, else Unknown. What can not be
// read makes everything private. The configuration is a poll's; one that is not polled
// tells nothing. While the first poll is still to come PrivateOf returns false, and
// everything.
func PrivateOf(s Settings, conf slurmclient.Reading[*slurm.Conf]) (Private, bool) {
	text, ok := s.Annotations[v1alpha1.AnnotationPrivateData]
	switch {
	case ok:
	case conf.Known && conf.Value != nil:
		text = strings.Join(conf.Value.PrivateData, ",")
	case conf.Enabled && !conf.Known && conf.Err == nil:
		return everything(), false
	case !s.Configured:
		return s.Unknown, true
	default:
		if text, ok = privateDataIn(s.ExtraConf); !ok {
			return s.Unknown, true
		}
	}
	p, err := ParsePrivate(text)
	if err != nil {
		return everything(), true
	}
	return p, true
}

// privateDataIn returns the value of PrivateData in lines of slurm.conf, empty when it
// is not set. It is false when the lines include other files, which may set it.
func privateDataIn(conf string) (string, bool) {
	value, begun := "", ""
	for line := range strings.Lines(conf + "\n\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimRight(begun+line, " \t\r\n")
		head := strings.TrimRight(line, `\`)
		if begun = ""; (len(line)-len(head))%2 == 1 { // the next line goes on with it
			begun = line[:len(line)-1]
			continue
		}
		words := strings.Fields(strings.ReplaceAll(line, "=", " = "))
		for i, word := range words {
			switch {
			case strings.EqualFold(word, "include"):
				return "", false
			case strings.EqualFold(word, "PrivateData") && i+2 < len(words) && words[i+1] == "=":
				value = strings.Trim(words[i+2], `"`)
			}
		}
	}
	return value, true
}
