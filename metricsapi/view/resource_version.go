package view

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"
)

// frameToList returns the frame of a list and the position after which the page begins, nil for
// the beginning.
func (s *store[T]) frameToList(newest *frame[T], opts *internalversion.ListOptions) (*frame[T], *continueToken, error) {
	if opts.Continue != "" {
		p, err := parseContinueToken(opts.Continue)
		if err != nil || p.Version == 0 {
			return newest, &p, err
		}
		if f := s.timeline.frameAt(p.Version); f != nil {
			return f, &p, nil
		}
		gone := apierrors.NewResourceExpired("the version at which the list began is no longer available: list " +
			"again, or continue " +
			"with the continue token of this response, which uses the newest version")
		gone.ErrStatus.ListMeta.Continue = continueToken{0, p.Ref, p.Key}.encode()
		return nil, nil, gone
	}
	asked, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return nil, nil, err
	}
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		if f := s.timeline.frameAt(asked); f != nil {
			return f, nil, nil
		}
		return nil, nil, newExpired(opts.ResourceVersion)
	}
	if asked > newest.version {
		// The version is from another replica, whose frame may be newer.
		return nil, nil, storage.NewTooLargeResourceVersionError(asked, newest.version, 1)
	}
	return newest, nil, nil
}

func formatVersion(v uint64) string { return strconv.FormatUint(v, 10) }

// parseVersion reads a resourceVersion; an empty one is 0.
func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("%q is not a valid resourceVersion", text))
	}
	return v, nil
}

func newExpired(version string) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("resourceVersion %s is too old or from another replica: "+
		"list again", version))
}
