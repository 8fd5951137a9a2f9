// Package enum names the values of enumerations.
package enum

import "fmt"

// Name returns the name of v, which is names[v], or if it has none typ with its number, such as "Rule(77)".
func Name[T ~uint8](typ string, names []string, v T) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", typ, uint8(v))
}
