package v1beta1

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is how many bytes of text the message of a condition has at most. Reasons of Slurm, of programs and of users
// get into it. The API server takes 32768, and all conditions of an object have to fit into it.
const maxMessage = 16 << 10

// SetCondition sets a condition of an object with the given generation, and cuts a message that the API server would
// refuse. All conditions are set with it. It reports whether the conditions have changed; now is the time of a change of
// the status.
func SetCondition(conditions *[]metav1.Condition, kind string, c metav1.Condition, generation int64,
	now time.Time) bool {
	c.Type, c.ObservedGeneration, c.LastTransitionTime = kind, generation, metav1.NewTime(now)
	c.Message = CutText(c.Message, maxMessage)
	return meta.SetStatusCondition(conditions, c)
}

// CutText returns a text of at most size bytes. One that is longer is cut between two characters and ends with a mark.
func CutText(text string, size int) string {
	const mark = " …"
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size-len(mark)], "") + mark
}
