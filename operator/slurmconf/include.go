package slurmconf

import (
	"fmt"
	"path"
	"strings"
)

// ParseFiles parses a file. The settings of the included file of Dir replace each Include. An Include is returned as a setting
// if files lacks its file, or the file was included before.
func ParseFiles(files map[string]string, text string) []Setting {
	return parseFiles(files, "", text, map[string]bool{})
}

// ResolveIncludes returns the lines of a file without comments. The lines that ParseFiles reads replace each Include.
func ResolveIncludes(files map[string]string, text string) string {
	var out strings.Builder
	for _, s := range ParseFiles(files, text) {
		out.WriteString(s.Text + "\n")
	}
	return out.String()
}

func parseFiles(files map[string]string, file, text string, included map[string]bool) []Setting {
	var out []Setting
	for _, s := range ParseSettings(text) {
		s.File = file
		name, inDir := s.IncludedFile()
		content, has := files[name]
		if !inDir || !has || included[name] {
			out = append(out, s)
			continue
		}
		included[name] = true
		out = append(out, parseFiles(files, name, content, included)...)
	}
	return out
}

// IncludedFile returns the name of the file that an Include reads, and reports whether the setting is an
// Include of a file of Dir.
func (s Setting) IncludedFile() (string, bool) {
	if !s.IsInclude() {
		return "", false
	}
	name := s.Value
	if !path.IsAbs(name) {
		name = path.Join(Dir, name)
	}
	dir, name := path.Split(path.Clean(name))
	return name, dir == Dir+"/" && name != ""
}

// Place describes the file and the line of a setting. file is the name of the parsed file.
func (s Setting) Place(file string) string {
	if s.File != "" {
		file = s.File
	}
	return fmt.Sprintf("%s, line %d", file, s.Line)
}

// CheckIncludes returns an error that names the first Include that ParseFiles could not resolve with files, because its
// settings are unknown. The error calls the parsed file by the given name.
func CheckIncludes(settings []Setting, files map[string]string, file string) error {
	for _, s := range settings {
		if !s.IsInclude() {
			continue
		}
		name, _ := s.IncludedFile()
		if _, has := files[name]; has {
			return fmt.Errorf("%s: %s is included twice", s.Place(file), name)
		}
		return fmt.Errorf("%s must not include %s: only files of spec.configFileRefs can be included", s.Place(file), s.Value)
	}
	return nil
}

// checkNULs returns an error that names the first of the included files with a NUL character.
func checkNULs(settings []Setting, files map[string]string) error {
	for _, s := range settings {
		if strings.Contains(files[s.File], "\x00") {
			return fmt.Errorf("%s must not contain a NUL character: Slurm ignores the rest of such a line", s.File)
		}
	}
	return nil
}
