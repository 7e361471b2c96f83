package accounts

import (
	"fmt"
	"slices"
	"strings"
)

// Association is a user in an account, or an account, whose User is empty.
type Association struct {
	Account, User string
	// Partition is that to which the association is restricted, if any.
	Partition string
}

// Unlisted returns which of the associations that exist in the database are not in the file, users before accounts.
// Those of the users of needed and of root, and the account root, are never among them.
func (f File) Unlisted(existing []Association, needed ...string) []Association {
	var users, accounts []Association
	for _, a := range existing {
		switch {
		case a.User == "root" || a.User == "" && a.Account == "root" || slices.Contains(needed, a.User):
		case a.User == "" && !slices.Contains(f.Accounts, a.Account):
			accounts = append(accounts, a)
		case a.User != "" && !slices.ContainsFunc(f.Users, func(u Association) bool { return u.isSame(a) }):
			users = append(users, a)
		}
	}
	return append(users, accounts...)
}

// isSame reports whether an association of the file stands for one that exists. Slurm knows users in small letters,
// unless slurmdbd.conf has PreserveCaseUser. One without a partition cannot be removed without those with one, so that
// it stays with them.
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
