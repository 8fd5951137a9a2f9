// Package ended asks a caller's context whether and why it has ended. Contexts are
// types of anybody's: one whose Done channel is closed while its Err is nil breaks the
// contract of package context, and has ended all the same.
package ended

import "context"

// Err returns why ctx, which may be nil, has ended, or nil if it has not. What a method of ctx panics with
// is the caller's.
func Err(ctx context.Context) error {
	if ctx == nil {
		return nil
	}
	return look(ctx)
}

// look is apart from Err to keep that small enough to inline: most calls have no context.
func look(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return Why(ctx)
	default:
		return nil
	}
}

// Why returns why ctx has ended, whose Done channel was found closed: what its Err
// returns, or [context.Canceled] if that is nil.
func Why(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}
