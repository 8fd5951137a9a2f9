package plan

import (
	"reflect"
	"slices"
	"testing"
)

// TestEqual changes each word of a problem.
func TestEqual(t *testing.T) {
	p := Problem{M: 3, N: 4}
	if q := p; !q.Equal(&p) {
		t.Error("a problem is not equal to its copy")
	}
	var change func(q *Problem, v reflect.Value, name string)
	change = func(q *Problem, v reflect.Value, name string) {
		old := reflect.ValueOf(v.Interface())
		switch {
		case slices.Contains([]string{"Problem.Kernel", "Problem.Elem", "Problem.Asked.Any"}, name):
			return // follows from others
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				change(q, v.Field(i), name+"."+v.Type().Field(i).Name)
			}
			return
		case v.Kind() == reflect.Bool:
			v.SetBool(!v.Bool())
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case v.CanInt():
			v.SetInt(v.Int() + 1)
		default:
			v.SetUint(v.Uint() + 1)
		}
		if q.Equal(&p) || p.Equal(q) {
			t.Errorf("problems are equal that differ in %s", name)
		}
		v.Set(old)
	}
	q := p
	change(&q, reflect.ValueOf(&q).Elem(), "Problem")
}
