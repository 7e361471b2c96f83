package sbom

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/slurmtide/slurmtide/hack/release/internal/roots"
)

var at = time.Unix(1_800_000_000, 0).UTC()

func read(t *testing.T, file string) (*cdx.BOM, string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(in, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	return bom, string(text)
}

// This test is itself a program, though Go does not record the other modules of tests.
func TestTheBillOfAProgram(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 {
		bill, err := OfProgram(program, "v0.1.0")
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		subject := Subject{Name: "a.deb", Version: "0.1.0", SHA256: "00", Kind: File}
		if err := bill.Write(folder, "a.deb", subject, at); err != nil {
			t.Fatal(err)
		}
		bom, text := read(t, filepath.Join(folder, "a.deb.cdx.json"))
		texts = append(texts, text)
		for _, module := range []string{"github.com/slurmtide/slurmtide/hack/release", "std"} {
			if !slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool { return c.Name == module }) {
				t.Errorf("the bill lacks %s", module)
			}
		}
		if got := bom.Metadata; got.Component.Name != "a.deb" || got.Timestamp != "2027-01-15T08:00:00Z" || bom.SerialNumber != "" {
			t.Errorf("the bill is of %+v at %s", got.Component, got.Timestamp)
		}
	}
	if texts[0] != texts[1] {
		t.Error("two bills of one program differ")
	}
}

func TestTheBillOfAnImage(t *testing.T) {
	folder := t.TempDir()
	bill := OfPackages([]roots.Package{{Name: "slurmd", Version: "26.05.5-1", Arch: "arm64"}})
	if err := bill.Write(folder, "slurmd", Subject{Name: "slurmd", Version: "26.05", Kind: Container}, at); err != nil {
		t.Fatal(err)
	}
	bom, _ := read(t, filepath.Join(folder, "slurmd.cdx.json"))
	const want = "pkg:deb/debian/slurmd@26.05.5-1?arch=arm64"
	if got := (*bom.Components)[0].PackageURL; got != want {
		t.Errorf("the component is %s, want %s", got, want)
	}
	if got := *(*bom.Dependencies)[0].Dependencies; !slices.Equal(got, []string{want}) {
		t.Errorf("the image depends on %v, want %s", got, want)
	}
}
