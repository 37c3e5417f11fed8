package operator

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Primitive is an area of tools that a kit switches on and off, from a closed
// list: Primitives. It is a string.
type Primitive = core.Primitive

// Primitives lists every primitive there is.
func Primitives() []Primitive { return core.Primitives() }

// DefaultKit is the name of the kit that an account begins with.
const DefaultKit = "Default"

// KitInput is a kit, whole: what it does not name is as in a fresh account, that
// is on, but for the primitives brain and pipelines.
type KitInput struct {
	Name       string          `json:"name,omitzero" validate:"max=100" doc:"What the kit is called; Default when left out."`
	Primitives map[string]bool `json:"primitives" validate:"required,max=50" doc:"Which areas of tools the account has: primitive to true or false."`
	Tools      map[string]bool `json:"tools,omitzero" validate:"max=300" doc:"Single tools, by name, to true or false; one that is left out follows its primitive."`
	Toolkits   map[string]bool `json:"toolkits,omitzero" validate:"max=300" doc:"Toolkits of connections, by name, to true or false."`
}

// KitInfo is an account's kit as it stands.
type KitInfo struct {
	Name       string          `json:"name" doc:"What the kit is called."`
	Primitives map[string]bool `json:"primitives" doc:"Every primitive there is, and whether it is on."`
	Tools      map[string]bool `json:"tools" doc:"The single tools that are named."`
	Toolkits   map[string]bool `json:"toolkits" doc:"The toolkits that are named."`
	UpdatedAt  *time.Time      `json:"updated_at" doc:"When it was last changed; null: never."`
	UpdatedBy  *string         `json:"updated_by" doc:"Who changed it."`
}

type kitRow struct {
	Name       sql.NullString `db:"kit_name"`
	Primitives sql.NullString `db:"kit_primitives"`
	Tools      sql.NullString `db:"kit_tools"`
	Toolkits   sql.NullString `db:"kit_toolkits"`
}

const kitColumns = `k.name as kit_name, k.primitives as kit_primitives, k.tools as kit_tools, k.toolkits as kit_toolkits`

// kit reads what is stored. A stored kit that cannot be read is an error, never a
// kit that lets everything through.
func (r kitRow) kit() (core.Kit, error) {
	k := core.Kit{Name: DefaultKit}
	if !r.Name.Valid {
		return k, nil
	}
	k.Name = r.Name.String
	read := func(text string, into any) error {
		if text == "{}" {
			return nil
		}
		return json.Unmarshal([]byte(text), into)
	}
	return k, errors.Join(read(r.Primitives.String, &k.Primitives), read(r.Tools.String, &k.Tools), read(r.Toolkits.String, &k.Toolkits))
}

// SetKit puts a kit in place of the account's present one. It is an owner's act,
// and holds for the very next call, in every process. Errors: ErrUnknownKey for
// a primitive that is not of the list; ErrRoleNotAllowed.
//
// The names of tools are held to their form alone: which tools there are is known
// to the schedule of powers, whose act checks them.
func (op *Operator) SetKit(ctx context.Context, p Person, in KitInput) (KitInfo, error) {
	return perform(ctx, op, func(tx core.Tx) (KitInfo, error) {
		if err := p.owns(ctx, tx, core.ScopeKitWrite); err != nil {
			return KitInfo{}, err
		}
		if err := lockKit(ctx, tx, p.accountID); err != nil {
			return KitInfo{}, err
		}
		info, err := in.store(ctx, tx, p.accountID, p.ID())
		if err != nil {
			return info, err
		}
		audit := p.auditRow(ctx, "set_kit")
		audit.Outcome = in.outcome()
		return info, tx.Audit(ctx, audit)
	})
}

// lockKit makes changes of a kit queue, one that reads it first among them.
func lockKit(ctx context.Context, tx core.Tx, account int64) error {
	var held int64
	return tx.Get(ctx, &held, `select id from reeve_accounts where id = $1 `+ownRow(tx), account)
}

// ShowKit is the account's kit, for an owner.
func (op *Operator) ShowKit(ctx context.Context, p Person) (KitInfo, error) {
	var out KitInfo
	err := op.inView(ctx, func(tx core.Tx) error {
		who, err := p.live(ctx, tx, "")
		if err != nil {
			return err
		}
		if who.Role != RoleOwner {
			return errNotOwner()
		}
		out, err = kitOf(ctx, tx, p.accountID)
		return err
	})
	return out, err
}

// owns is stand for what only an owner does.
func (p Person) owns(ctx context.Context, tx core.Tx, need Scope) error {
	who, err := p.stand(ctx, tx, need)
	if err == nil && who.Role != RoleOwner {
		return errNotOwner()
	}
	return err
}

func errNotOwner() error {
	return core.Refuse(core.ReasonRoleNotAllowed, "An owner of the account has to do this.")
}

// Kit is an account's kit, by the account's name; "" is default.
func (op *Operator) Kit(ctx context.Context, account string) (KitInfo, error) {
	var out KitInfo
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		out, err = kitOf(ctx, tx, ws.AccountID)
		return err
	})
	return out, err
}

// ChangeKit changes what is named of an account's kit, and leaves the rest. It is
// an administrative act on the database.
func (op *Operator) ChangeKit(ctx context.Context, account string, change KitInput) (KitInfo, error) {
	var out KitInfo
	err := op.inTx(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		// Two changes at once must not undo each other.
		if err := lockKit(ctx, tx, ws.AccountID); err != nil {
			return err
		}
		in, err := storedKit(ctx, tx, ws.AccountID)
		if err != nil {
			return err
		}
		if change.Name != "" {
			in.Name = change.Name
		}
		maps.Copy(in.Primitives, change.Primitives)
		maps.Copy(in.Tools, change.Tools)
		maps.Copy(in.Toolkits, change.Toolkits)
		if out, err = in.store(ctx, tx, ws.AccountID, localPrincipal); err != nil {
			return err
		}
		return auditLocal(ctx, tx, ws, "set_kit", in.outcome())
	})
	return out, err
}

func findKit(ctx context.Context, tx core.Tx, account int64) (core.Kit, error) {
	var row kitRow
	err := tx.Get(ctx, &row, `select `+kitColumns+` from reeve_kits k where k.account_id = $1`, account)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return core.Kit{}, err
	}
	return row.kit()
}

// storedKit is the kit as somebody could have given it.
func storedKit(ctx context.Context, tx core.Tx, account int64) (KitInput, error) {
	k, err := findKit(ctx, tx, account)
	in := KitInput{Name: k.Name, Primitives: map[string]bool{}, Tools: map[string]bool{}, Toolkits: map[string]bool{}}
	for p, on := range k.Primitives {
		in.Primitives[string(p)] = on
	}
	maps.Copy(in.Tools, k.Tools)
	maps.Copy(in.Toolkits, k.Toolkits)
	return in, err
}

func kitOf(ctx context.Context, tx core.Tx, account int64) (KitInfo, error) {
	k, err := findKit(ctx, tx, account)
	if err != nil {
		return KitInfo{}, err
	}
	out := KitInfo{Name: k.Name, Primitives: map[string]bool{}, Tools: map[string]bool{}, Toolkits: map[string]bool{}}
	for _, p := range core.Primitives() {
		out.Primitives[string(p)] = k.Has(p)
	}
	maps.Copy(out.Tools, k.Tools)
	maps.Copy(out.Toolkits, k.Toolkits)
	var changed struct {
		At int64  `db:"updated_at"`
		By string `db:"updated_by"`
	}
	err = tx.Get(ctx, &changed, `select updated_at, updated_by from reeve_kits where account_id = $1`, account)
	if errors.Is(err, sql.ErrNoRows) {
		return out, nil
	}
	at := core.FromMicros(changed.At)
	out.UpdatedAt, out.UpdatedBy = &at, &changed.By
	return out, err
}

func (in KitInput) store(ctx context.Context, tx core.Tx, account int64, by string) (KitInfo, error) {
	if in.Name == "" {
		in.Name = DefaultKit
	}
	if err := in.check(); err != nil {
		return KitInfo{}, err
	}
	if _, err := tx.Exec(ctx, `insert into reeve_kits (account_id, name, primitives, tools, toolkits, updated_at, updated_by)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (account_id) do update set name = excluded.name, primitives = excluded.primitives,
		tools = excluded.tools, toolkits = excluded.toolkits, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		account, in.Name, switches(in.Primitives), switches(in.Tools), switches(in.Toolkits), tx.Micros(), by); err != nil {
		return KitInfo{}, err
	}
	return kitOf(ctx, tx, account)
}

var (
	toolForm    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	toolkitForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
)

func (in KitInput) check() error {
	if err := checkWords("name", in.Name, 100); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(in.Primitives)) {
		if !Primitive(name).Known() {
			return core.Refuse(core.ReasonUnknownKey, "A kit has no such primitive. The primitives are %s.", listed(Primitives())).
				With("field", "primitives").With("known", Primitives())
		}
	}
	for field, held := range map[string]struct {
		names map[string]bool
		form  *regexp.Regexp
	}{"tools": {in.Tools, toolForm}, "toolkits": {in.Toolkits, toolkitForm}} {
		for name := range held.names {
			if !held.form.MatchString(name) {
				return core.Refuse(core.ReasonInvalidValue, "A name in %s is not well-formed: lower-case letters, digits and underscores.", field).With("field", field)
			}
		}
	}
	return nil
}

// outcome tells the record what is off and what was opted into.
func (in KitInput) outcome() string {
	var off, on []string
	for _, group := range []map[string]bool{in.Primitives, in.Tools, in.Toolkits} {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			if group[name] {
				on = append(on, name)
			} else {
				off = append(off, name)
			}
		}
	}
	words := func(all []string) string {
		if len(all) == 0 {
			return "nothing"
		}
		return strings.Join(all, " ")
	}
	return "kit: on " + words(on) + "; off " + words(off)
}

func switches(all map[string]bool) string {
	if len(all) == 0 {
		return "{}"
	}
	text, _ := json.Marshal(all, json.Deterministic(true)) // of words and truth values
	return string(text)
}

func listed[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, a := range all {
		words[i] = string(a)
	}
	return strings.Join(words, ", ")
}
