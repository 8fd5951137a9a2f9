// Package race says whether the race detector is on, for tests that it would make slow, or that count allocations;
// and it tells the detector what assembly reads and writes, and what orders what, where a package's own bookkeeping
// would make it believe in an order that users cannot rely on.
package race
