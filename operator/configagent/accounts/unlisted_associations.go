package accounts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Association is a user in an account, or an account, whose User is empty.
type Association struct {
	Account, User string
	// Partition restricts the association to a partition; empty for all.
	Partition string
}

// listing is everything that the files of a cluster list together.
type listing struct {
	files []File
	// needed are users, besides root, whose associations stay.
	needed []string
}

// unlisted returns the associations of the database that no file lists: users in partitions, users, then accounts. It
// leaves out associations of root and of needed users, the account root, and accounts whose removal would also remove
// an association that stays.
func (l listing) unlisted(existing []Association) []Association {
	var users, accounts []Association
	kept := map[string]bool{"root": true}
	for _, a := range existing {
		switch {
		case a.User == "":
			accounts = append(accounts, a)
		case l.isKept(a.User) || l.hasUser(a):
			kept[a.Account] = true
		default:
			users = append(users, a)
		}
	}
	slices.SortStableFunc(users, func(a, b Association) int {
		return cmp.Compare(partitionOrder(a), partitionOrder(b))
	})
	return append(users, slices.DeleteFunc(accounts, func(a Association) bool {
		return kept[a.Account] || l.hasAccount(a.Account)
	})...)
}

// partitionOrder sorts a user in a partition before one without: Slurm removes the former with the latter.
func partitionOrder(a Association) int {
	if a.Partition == "" {
		return 1
	}
	return 0
}

// removable returns how many of the associations could be removed if no file listed them.
func (l listing) removable(existing []Association) int {
	return len(listing{needed: l.needed}.unlisted(existing))
}

// isEmpty reports whether the files list nothing but root, needed users and the account root.
func (l listing) isEmpty() bool {
	for _, f := range l.files {
		hasAccount := slices.ContainsFunc(f.Accounts, func(name string) bool { return name != "root" })
		if hasAccount || slices.ContainsFunc(f.Users, func(u Association) bool { return !l.isKept(u.User) }) {
			return false
		}
	}
	return true
}

func (l listing) isKept(user string) bool { return user == "root" || slices.Contains(l.needed, user) }

// hasAccount reports whether a file lists an account, or names it as a parent.
func (l listing) hasAccount(name string) bool {
	return slices.ContainsFunc(l.files, func(f File) bool {
		return slices.Contains(f.Accounts, name) || slices.Contains(f.Parents, name)
	})
}

func (l listing) hasUser(existing Association) bool {
	return slices.ContainsFunc(l.files, func(f File) bool {
		return slices.ContainsFunc(f.Users, func(u Association) bool { return u.isSame(existing) })
	})
}

// isSame reports whether an association of the file matches an existing one. Slurm stores users in lower case, unless
// slurmdbd.conf has PreserveCaseUser. An association without a partition cannot be removed before the ones with a
// partition, so it stays with them.
func (a Association) isSame(existing Association) bool {
	return a.Account == existing.Account && strings.EqualFold(a.User, existing.User) &&
		(existing.Partition == "" || a.Partition == existing.Partition)
}

// String returns the association for people.
func (a Association) String() string {
	switch {
	case a.User == "":
		return "account " + a.Account
	case a.Partition == "":
		return fmt.Sprintf("user %s of account %s", a.User, a.Account)
	}
	return fmt.Sprintf("user %s of account %s in partition %s", a.User, a.Account, a.Partition)
}
