package powers

import (
	_ "html/template" // want "imports \"html/template\""
	_ "net/rpc"       // want "imports \"net/rpc\""
	_ "plugin"        // want "imports \"plugin\""
	"reflect"
	_ "text/template" // want "imports \"text/template\""
	"unsafe"          // want "imports \"unsafe\""

	"github.com/reeve-go/reeve/operator"
)

//go:linkname linked github.com/reeve-go/reeve/operator.(*Operator).approve // want "links a name"
func linked()

type likeAPerson struct{ account, project, person, credential, voucher int64 }

func hiddenMake(p *likeAPerson, t reflect.Type, f func([]reflect.Value) []reflect.Value) {
	_ = (*operator.Person)(unsafe.Pointer(p))
	_ = reflect.NewAt(t, unsafe.Pointer(p)) // want "uses reflect's NewAt"
	_ = reflect.MakeFunc(t, f)              // want "uses reflect's MakeFunc"
	for range t.Methods() {                 // want "uses reflect's Methods"
	}
}
