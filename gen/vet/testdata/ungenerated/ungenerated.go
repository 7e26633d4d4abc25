// Package ungenerated has handlers and no generated code.
package ungenerated

import "github.com/wowgen/wow"

//wow:processor name=log context=shop
type Log struct{}

type A struct{}

type B struct{}

func (Log) OnA(e wow.Event[A]) error { return nil } // want `Log.OnA never runs: the package has no generated code`

func (Log) OnB(e wow.Event[B]) error { return nil } // told once
