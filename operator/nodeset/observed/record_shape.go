package observed

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// RecordShape is the shape of the records that are created for a NodeSet's workers. The zero value is unknown.
type RecordShape struct {
	// Hash identifies the shape in the comments of Slurm nodes. It is empty if the options do not set the CPUs: records are then
	// compared only by the options that are set.
	Hash string
	// Features are the NodeSet's features. They are not part of the hash, because Slurm can change them.
	Features []string
	// KnowsKinds is true if slurmctld knows the kinds of the generic resources, so that it shows each kind on a record.
	KnowsKinds bool

	known                       bool
	cpus, memoryMiB, tmpDiskMiB uint64 // 0 if the options do not set the value
	gres                        map[string]uint64
	gresText                    string
	unwritten                   string // the hash without the writing of GRES, which earlier versions did not do
	reservesCores               bool
}

// RecordShapeOf returns the shape of records that are created with the options.
func RecordShapeOf(options string) RecordShape {
	o := slurmconf.ParseOptions(options)
	s := RecordShape{known: true, Features: o.List("Feature"), reservesCores: o.HasAny("CoreSpecCount", "CPUSpecList")}
	s.cpus = cpusOf(o)
	s.memoryMiB, _ = o.Number("RealMemory")
	s.tmpDiskMiB, _ = o.Number("TmpDisk")
	s.gresText = o.Value("Gres")
	s.gres, _ = slurm.ParseGRES(s.gresText)
	if s.cpus == 0 {
		return s
	}
	o.Remove("Feature", "State")
	s.unwritten = hashOf(o.Canonical())
	s.Hash = s.unwritten
	if len(s.gres) > 0 {
		s.Hash = hashOf(o.Canonical() + " and GRES are written")
	}
	return s
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// hashLength is the number of hexadecimal digits of a hash.
const hashLength = 8

// cpusOf returns the number of CPUs that options set, or 0.
func cpusOf(o slurmconf.Options) uint64 {
	if n, ok := o.Number("CPUs"); ok {
		return n
	}
	product, stated := uint64(1), false
	for _, name := range []string{"Boards", "SocketsPerBoard", "Sockets", "CoresPerSocket", "ThreadsPerCore"} {
		if n, ok := o.Number(name); ok {
			product, stated = product*n, true
		}
	}
	if !stated {
		return 0
	}
	return product
}

// IsKnown reports whether the shape is known.
func (s RecordShape) IsKnown() bool { return s.known }

// IsOf reports whether a record has the shape: by the hash in its comment or, for a record that an earlier version created, by its
// resources in Slurm. A reconfigure may have removed the types of its GRES: then the number of each kind decides.
func (s RecordShape) IsOf(n *slurm.Node, hash string) bool {
	if hash != "" && s.Hash != "" {
		return hash == s.Hash || hash == s.unwritten
	}
	shown, err := slurm.ParseGRES(n.GRES)
	return err != nil || isOr0(s.cpus, uint64(n.CPUs)) && isOr0(s.memoryMiB, n.MemoryMiB) &&
		isOr0(s.tmpDiskMiB, n.TmpDiskMiB) && (maps.Equal(s.gres, shown) || s.lostTypes(n))
}

// Compare compares the record of a Slurm node with the shape, unless that is not known.
func (s RecordShape) Compare(record *plan.Record, n *slurm.Node) {
	if !s.known {
		return
	}
	note, _ := comment.Parse(n.Comment)
	record.OtherShape = !s.IsOf(n, note.Shape)
	record.ExceedsShape = record.OtherShape && s.IsExceededBy(n)
	record.LacksGRES = record.Future && !record.OtherShape && s.LacksGRES(n, note.Shape)
}

// IsExceededBy reports whether Slurm refuses a slurmd of the shape for a record of another shape. The record has more of a resource,
// other types of a resource, or other reserved cores.
func (s RecordShape) IsExceededBy(n *slurm.Node) bool {
	exceeds := func(stated, shown uint64) bool { return stated > 0 && shown > stated }
	return exceeds(s.cpus, uint64(n.CPUs)) || exceeds(s.memoryMiB, n.MemoryMiB) ||
		n.TmpDiskMiB > s.tmpDiskMiB || s.reservesCores ||
		n.EffectiveCPUs > 0 && n.EffectiveCPUs < n.CPUs || s.lacksGRES(n.GRES)
}

// lacksGRES reports whether Slurm misses generic resources that a record has, or gets a type that it does not have. After
// a reconfigure Slurm shows the generic resources of a FUTURE record without their type.
func (s RecordShape) lacksGRES(text string) bool {
	record, err := slurm.ParseGRES(text)
	if err != nil {
		return true
	}
	for name, count := range record {
		if s.gres[name] < count {
			return true
		}
	}
	for name := range s.gres {
		kind, _, _ := strings.Cut(name, ":")
		if record[kind] > 0 && record[name] == 0 {
			return true
		}
	}
	return false
}

// FeaturesOf returns the features that a FUTURE record should have: the NodeSet's, and the features from its last Kubernetes node.
func (s RecordShape) FeaturesOf(n *slurm.Node) []string {
	out := slices.Clone(s.Features)
	for _, f := range n.Features {
		if strings.HasPrefix(f, v1beta1.FeaturePrefix) && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// lostTypes reports whether a FUTURE record of the shape has lost the types of its generic resources. Jobs that request a type then
// become BadConstraints, and sbatch refuses new ones (docs/development/slurm.md).
func (s RecordShape) lostTypes(n *slurm.Node) bool {
	shown, err := slurm.ParseGRES(n.GRES)
	if err != nil || maps.Equal(s.gres, shown) {
		return false
	}
	for name, count := range shown { // each kind has its total, and each type besides
		if s.gres[name] != count {
			return false
		}
	}
	for name, count := range s.gres {
		if isTyped := strings.Contains(name, ":"); !isTyped && shown[name] != count {
			return false
		}
	}
	return true
}

// GRES returns the generic resources of the shape, or nil. They must be written on a record right after its creation. Otherwise
// slurmctld counts none at its next reconfigure or start: it removes their types, and a worker that takes over the record has no
// GRES. slurmctld refuses to restore them until its next start (docs/development/slurm.md).
func (s RecordShape) GRES() *string {
	if len(s.gres) == 0 {
		return nil
	}
	return &s.gresText
}

// HashWithoutGRES identifies the shape in the comments of records on which GRES were not written after their creation.
func (s RecordShape) HashWithoutGRES() string { return s.unwritten }

// LacksGRES reports whether the GRES of a FUTURE record of the shape must be written. hash is the hash in its comment.
func (s RecordShape) LacksGRES(n *slurm.Node, hash string) bool {
	return s.Hash != "" && len(s.gres) > 0 && (hash == s.unwritten || s.lostTypes(n) || s.KnowsKinds && s.lostKind(n))
}

// lostKind reports whether a FUTURE record of the shape shows a kind of its generic resources no more: it was created while GresTypes
// lacked the kind (docs/development/slurm.md).
func (s RecordShape) lostKind(n *slurm.Node) bool {
	shown, err := slurm.ParseGRES(n.GRES)
	if err != nil {
		return false
	}
	for name, count := range s.gres {
		if isTyped := strings.Contains(name, ":"); !isTyped && count > 0 && shown[name] == 0 {
			return true
		}
	}
	return false
}

// isOr0 reports whether a number is the stated one, or one of them is 0.
func isOr0(stated, shown uint64) bool { return stated == 0 || shown == 0 || stated == shown }
