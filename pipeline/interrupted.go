package pipeline

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
)

// Interrupted is the error of a [Run] whose context ended before its roles did. It says
// where they were: of roles that hang, why. It wraps the context's error and its
// cause, and what the roles returned.
type Interrupted struct {
	Err   error        // of the context
	Cause error        // of its end, which may be Err
	Roles []RoleStatus // in their order
	// Elsewhere is a wait on the ring as it was given to Run, not on what a role was
	// given, so that nobody knows whose it is; nil if there is none.
	Elsewhere *Wait
}

// RoleStatus says where a role was when the context of its [Run] ended.
type RoleStatus struct {
	Name     string // of the function
	Wait     *Wait  // on the ring, for 0.1 ms at least; nil if there is none, one if there are several
	Returned bool   // it had returned
	Err      error  // what it returned afterwards, nil if that was the ring's error
}

// where returns where the roles are.
func (n *run) where() *Interrupted {
	e := &Interrupted{Roles: make([]RoleStatus, len(n.members)), Elsewhere: n.ring.waits.report(n.ring)}
	for i := range n.members {
		m := &n.members[i]
		e.Roles[i] = RoleStatus{Name: nameOf(m.role), Returned: m.returned.Load(), Wait: m.ring.waits.report(&m.ring)}
	}
	return e
}

// nameOf returns the name of the role's function, without the path of its package.
func nameOf(role Role) string {
	if f := runtime.FuncForPC(reflect.ValueOf(role).Pointer()); f != nil {
		return path.Base(f.Name())
	}
	return "nil"
}

// Error returns why the context ended and a line for each role.
func (e *Interrupted) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline: %v", e.Err)
	if !same(e.Cause, e.Err) {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	for i := range e.Roles {
		fmt.Fprintf(&b, "\n  role %d, %v", i, &e.Roles[i])
	}
	if e.Elsewhere != nil {
		fmt.Fprintf(&b, "\n  on the ring of Run, not of a role: %v", e.Elsewhere)
	}
	return b.String()
}

// Unwrap returns the context's error, its cause and the errors of the roles.
func (e *Interrupted) Unwrap() []error {
	errs := []error{e.Err}
	if !same(e.Cause, e.Err) {
		errs = append(errs, e.Cause)
	}
	for i := range e.Roles {
		if err := e.Roles[i].Err; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// String describes where the role was.
func (s *RoleStatus) String() string {
	var b strings.Builder
	b.WriteString(s.Name + ": ")
	switch {
	case s.Wait != nil:
		b.WriteString(s.Wait.String())
	case s.Returned:
		b.WriteString("had returned")
	default:
		b.WriteString("was not waiting on the ring")
	}
	if s.Err != nil {
		fmt.Fprintf(&b, "; it returned: %v", s.Err)
	}
	return b.String()
}
