package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

type kitCmd struct {
	Show kitShowCmd `cmd:"" help:"Show which primitives and tools the account has."`
	Set  kitSetCmd  `cmd:"" help:"Turn primitives, tools and toolkits on or off."`
}

func (*kitCmd) Help() string {
	return `    reeve kit show
    reeve kit set brain=on
    reeve kit set board=off operator_update_decision=off

A change holds for the very next call, also on a running server. What stops something is never off.`
}

type kitShowCmd struct {
	database `embed:""`
	JSON     bool `name:"json" help:"Print one JSON object and nothing else."`
}

func (s *kitShowCmd) Run(k *kong.Context, c console) error {
	return s.withLook(k, func(ctx context.Context, op *operator.Operator) error {
		kit, err := op.Kit(ctx, "")
		if err != nil {
			return err
		}
		if s.JSON {
			return printJSON(c.out, kit)
		}
		return showKit(c.out, kit)
	})
}

type kitSetCmd struct {
	database `embed:""`
	Name     string   `placeholder:"NAME" help:"What the kit is called."`
	Toolkit  []string `placeholder:"NAME=on|off" help:"A toolkit of the connections. May be repeated."`
	Switches []string `arg:"" optional:"" name:"name=on|off" help:"A primitive or a tool, as brain=on. What is not named stays as it is."`
	JSON     bool     `name:"json" help:"Print one JSON object and nothing else."`
}

func (s *kitSetCmd) Run(k *kong.Context, c console) error {
	change, err := s.change()
	if err != nil {
		return err
	}
	return s.withStop(k, c, func(ctx context.Context, op *operator.Operator) error {
		schedule, err := powers.New(op)
		if err != nil {
			return err
		}
		if err := schedule.CheckKit(change); err != nil {
			return err
		}
		kit, err := op.ChangeKit(ctx, "", change)
		if err != nil {
			return err
		}
		if s.JSON {
			return printJSON(c.out, kit)
		}
		return showKit(c.out, kit)
	})
}

// change reads the command line. A name that is no primitive is taken for a tool's.
func (s *kitSetCmd) change() (operator.KitInput, error) {
	in := operator.KitInput{Name: s.Name, Primitives: map[string]bool{}, Tools: map[string]bool{}, Toolkits: map[string]bool{}}
	if s.Name == "" && len(s.Switches)+len(s.Toolkit) == 0 {
		return in, usagef("say what to change, as brain=on")
	}
	for _, word := range s.Switches {
		into := in.Tools
		if name, _, _ := strings.Cut(word, "="); operator.Primitive(name).Known() {
			into = in.Primitives
		}
		if err := turn(into, word); err != nil {
			return in, err
		}
	}
	for _, word := range s.Toolkit {
		if err := turn(in.Toolkits, word); err != nil {
			return in, err
		}
	}
	return in, nil
}

func turn(into map[string]bool, word string) error {
	name, state, _ := strings.Cut(word, "=")
	if name == "" || state != "on" && state != "off" {
		return usagef("%s: write NAME=on or NAME=off", word)
	}
	if _, twice := into[name]; twice {
		return usagef("%s is named twice", name)
	}
	into[name] = state == "on"
	return nil
}

func showKit(w io.Writer, kit operator.KitInfo) error {
	fmt.Fprintf(w, "Kit %s\n", visibleLine(kit.Name))
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, p := range operator.Primitives() {
		fmt.Fprintf(table, "  %s\t%s\n", p, onOff(kit.Primitives[string(p)]))
	}
	writeSwitches(table, "tool", kit.Tools)
	writeSwitches(table, "toolkit", kit.Toolkits)
	return table.Flush()
}

func writeSwitches(w io.Writer, what string, named map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(named)) {
		fmt.Fprintf(w, "  %s %s\t%s\n", what, name, onOff(named[name]))
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
