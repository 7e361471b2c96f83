package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReleaseStatus says which image and which release of Slurm the pods of an object have, and which they are to have. The
// operator looks releases up when an image of the Slurm cluster changes. It is a slurmtide extension.
type ReleaseStatus struct {
	// image is the image of the daemon that all pods have, or had before nextImage.
	// +optional
	Image string `json:"image,omitempty"`

	// release is the release of Slurm in image, such as "26.05". It is empty until an image of the Slurm cluster changes.
	// +optional
	Release string `json:"release,omitempty"`

	// nextImage is the image that the pods are to have, as long as not all of them have it. The condition
	// ReleaseAllowed says whether they are being given it.
	// +optional
	NextImage string `json:"nextImage,omitempty"`

	// imageReleases are the releases of Slurm in images of the daemon, as far as they matter and were looked up.
	// +optional
	// +listType=map
	// +listMapKey=image
	ImageReleases []ImageRelease `json:"imageReleases,omitempty"`
}

// ImageRelease is the release of Slurm in an image.
type ImageRelease struct {
	// image is the name of the image, as in a container.
	// +required
	Image string `json:"image"`

	// release is the release of Slurm in it, such as "26.05". It is empty while it is being looked up.
	// +optional
	Release string `json:"release,omitempty"`
}

// ReleaseOf returns the release of Slurm in an image, or "" if it is not known.
func (s *ReleaseStatus) ReleaseOf(image string) string {
	for _, known := range s.ImageReleases {
		if known.Image == image {
			return known.Release
		}
	}
	return ""
}

// ReleaseStatusOf returns the releases of the slurmctld, and its conditions. Both may be changed.
func (c *Controller) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &c.Status.ReleaseStatus, &c.Status.Conditions
}

// ReleaseStatusOf returns the releases of the slurmdbd, and its conditions. Both may be changed.
func (a *Accounting) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &a.Status.ReleaseStatus, &a.Status.Conditions
}

// ReleaseStatusOf returns the releases of the slurmrestd, and its conditions. Both may be changed.
func (r *RestApi) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &r.Status.ReleaseStatus, &r.Status.Conditions
}

// ReleaseStatusOf returns the releases of the login pods, and their conditions. Both may be changed.
func (l *LoginSet) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &l.Status.ReleaseStatus, &l.Status.Conditions
}
