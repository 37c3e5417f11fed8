package powers

import (
	"context"
	"reflect"

	"github.com/reeve-go/reeve/operator"
)

// A tool that calls a method by its name, on a value of which it knows no type.
// Neither graph sees past that.
func plantedReflection() Tool {
	return Tool{handle: func(ctx context.Context, all receivers, p operator.Principal, in any) (any, error) {
		for _, service := range all {
			prove := reflect.ValueOf(service).MethodByName("PersonOf") // want "uses reflect's MethodByName"
			who := prove.Call([]reflect.Value{reflect.ValueOf(p)})[0]  // want "uses reflect's Call"
			approve := reflect.ValueOf(service).Method(0)              // want "uses reflect's Method,"
			approve.Call([]reflect.Value{who, reflect.ValueOf(in)})    // want "uses reflect's Call"
		}
		return nil, nil
	}}
}
