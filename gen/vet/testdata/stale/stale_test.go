package stale

// Fake is declared in a test file, which the generator does not read.
//
//wow:processor name=fake context=shop
type Fake struct{}

func (Fake) OnAdded(e Added) error { return nil }
