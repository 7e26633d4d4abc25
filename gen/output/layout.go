package output

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

// Formatting with go/format was half of the time of a run: it parses the file,
// and prints much of it twice to learn how long it would be. What we write uses
// a small part of Go, with its line breaks in place already. layout puts the
// spaces in, and knows nothing else: tests hold it to go/format, byte by byte,
// for everything that scenarios and fuzzing have written.

// Format returns generated Go as gofmt would, and signed.
func Format(src []byte) ([]byte, error) {
	if out, sum, ok := layout(src); ok {
		return signed(out, sum), nil
	}
	out, err := format.Source(src)
	if err != nil {
		return nil, fmt.Errorf("output: formatting: %w\n%s", err, numbered(src))
	}
	return Sign(out), nil
}

func numbered(src []byte) string {
	var b strings.Builder
	for i, l := range strings.Split(string(src), "\n") {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, l)
	}
	return b.String()
}

// layout returns src as gofmt would, but for the line break at its end, and the
// sum of its tokens. It reports false for a file with anything in it that layout
// does not know, which is then gofmt's.
func layout(src []byte) (out []byte, sum string, ok bool) {
	l := layouter{src: src, out: make([]byte, 0, len(src)+len(src)/8)}
	if !l.scan() {
		return nil, "", false
	}
	for i := range l.tokens {
		l.place(i)
	}
	l.align()
	return l.out, l.digest.sum(), true
}

// known are the tokens of generated code. Others, and binary operators but
// those of one precedence, have rules of spacing that layout does not follow.
var known = func() (k [token.TILDE + 1]bool) {
	for _, t := range []token.Token{
		token.IDENT, token.INT, token.STRING, token.COMMENT, token.PERIOD, token.COMMA, token.SEMICOLON, token.COLON, token.ELLIPSIS,
		token.LPAREN, token.RPAREN, token.LBRACK, token.RBRACK, token.LBRACE, token.RBRACE,
		token.AND, token.MUL, token.ASSIGN, token.DEFINE, token.EQL, token.NEQ,
		token.PACKAGE, token.IMPORT, token.CONST, token.VAR, token.TYPE, token.FUNC, token.STRUCT,
		token.RETURN, token.IF, token.FOR, token.RANGE, token.SWITCH, token.CASE, token.DEFAULT,
	} {
		k[t] = true
	}
	return k
}()

// lexeme is one token of the source.
type lexeme struct {
	tok      token.Token
	from, to int // in the source
	lines    int // line breaks before it
}

// bracket is one that is open.
type bracket struct {
	tok   token.Token
	block bool // of statements, or of a struct's fields
	multi bool // the line breaks after it: what is inside is indented
	body  bool // of a function
	from  int  // where its function begins in the output
	open  int  // where it stands in the output
}

// pair is a line "key: value" of a composite literal.
type pair struct{ value, key int } // where the value begins in the output, and how wide the key is

type layouter struct {
	src, out []byte
	tokens   []lexeme
	digest   digest
	open     []bracket
	indent   int
	header   int // how many brackets were open at the keyword whose block comes next; -1: none comes
	function int // where the function begins whose header this is, or -1
	pairs    []pair
	depth    int  // how many brackets are open around the pairs
	started  bool // the line began as a pair
}

// scan splits the source into tokens.
func (l *layouter) scan() bool {
	var s scanner.Scanner
	errors := 0
	file := token.NewFileSet().AddFile("", -1, len(l.src))
	s.Init(file, l.src, func(token.Position, string) { errors++ }, scanner.ScanComments)
	l.tokens = make([]lexeme, 0, len(l.src)/4)
	l.digest = make(digest, 0, len(l.src))
	l.header, l.function = -1, -1
	end := 0
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return errors == 0
		case tok == token.SEMICOLON && lit == "\n":
			continue
		case !known[tok], tok == token.COMMENT && lit[1] == '*', tok == token.STRING && lit[0] == '`':
			return false
		}
		from := file.Offset(pos)
		if lit == "" {
			lit = tok.String()
		}
		l.digest.add(tok, lit)
		lines := bytes.Count(l.src[end:from], []byte{'\n'})
		if tok == token.COMMENT && lines == 0 && end > 0 {
			return false // behind something: gofmt aligns it
		}
		if last := len(l.tokens) - 1; last > 0 && lines > 0 && tok != token.RBRACE && l.tokens[last].tok == token.LBRACE && l.tokens[last-1].tok == token.STRUCT {
			return false // fields, one below the other: gofmt aligns them
		}
		end = from + len(lit)
		l.tokens = append(l.tokens, lexeme{tok: tok, from: from, to: end, lines: lines})
	}
}

// at is a token by its place, or one that is none.
func (l *layouter) at(i int) token.Token {
	if i < 0 || i >= len(l.tokens) {
		return token.ILLEGAL
	}
	return l.tokens[i].tok
}

// place writes one token, and what stands between it and the one before.
func (l *layouter) place(i int) {
	t := &l.tokens[i]
	var closed bracket
	if t.tok == token.RPAREN || t.tok == token.RBRACK || t.tok == token.RBRACE {
		closed = l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		if closed.multi {
			l.indent--
		}
	}
	switch {
	case t.lines > 0 || i == 0:
		l.newline(i)
	case l.spaced(i, closed):
		l.out = append(l.out, ' ')
	}
	switch t.tok {
	case token.FUNC:
		l.header, l.function = len(l.open), len(l.out)
	case token.IF, token.FOR, token.SWITCH, token.STRUCT:
		l.header, l.function = len(l.open), -1
	}
	at := len(l.out)
	l.out = append(l.out, l.src[t.from:t.to]...)
	switch t.tok {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		b := bracket{tok: t.tok, multi: i+1 < len(l.tokens) && l.tokens[i+1].lines > 0, open: at}
		if t.tok == token.LBRACE && l.header == len(l.open) {
			b.block, b.body, b.from = true, l.function >= 0, l.function
			l.header, l.function = -1, -1
		}
		if b.multi {
			l.indent++
			l.breakPair()
		}
		l.open = append(l.open, b)
	case token.RBRACE:
		if closed.block && !closed.multi {
			l.unfold(closed)
		}
	}
}

// newline begins a line. Of several blank lines one is left.
func (l *layouter) newline(i int) {
	t := &l.tokens[i]
	if i > 0 {
		l.out = append(l.out, '\n')
		blank := t.lines > 1
		if blank {
			l.out = append(l.out, '\n')
		}
		isPair := t.tok == token.IDENT && l.at(i+1) == token.COLON && len(l.open) > 0 && !l.open[len(l.open)-1].block
		if !isPair || blank || l.depth != len(l.open) {
			l.align()
		}
		l.started = isPair
	}
	indent := l.indent
	next := t.tok
	for n := i; next == token.COMMENT; n++ {
		next = l.at(n + 1) // gofmt puts a comment above a case beside it
	}
	if next == token.CASE || next == token.DEFAULT {
		indent--
	}
	for range indent {
		l.out = append(l.out, '\t')
	}
	if l.started {
		l.depth = len(l.open)
		l.pairs = append(l.pairs, pair{key: utf8.RuneCount(l.src[t.from:t.to])})
	}
}

// breakPair says that the pair which the line began with takes several: gofmt
// aligns it with none.
func (l *layouter) breakPair() {
	if l.started {
		l.pairs = l.pairs[:len(l.pairs)-1]
		l.align()
		l.started = false
	}
}

// align gives the values of consecutive pairs one column.
func (l *layouter) align() {
	widest := 0
	for _, p := range l.pairs {
		widest = max(widest, p.key)
	}
	for i := len(l.pairs) - 1; i >= 0; i-- {
		p := l.pairs[i]
		if n := widest - p.key; n > 0 {
			l.out = slices.Insert(l.out, p.value, bytes.Repeat([]byte{' '}, n)...)
		}
	}
	l.pairs = l.pairs[:0]
}

// unfold breaks the body of a function, or the fields of a struct, when they
// are too long for one line.
func (l *layouter) unfold(b bracket) {
	inner := bytes.TrimSpace(l.out[b.open+1 : len(l.out)-1])
	if len(inner) == 0 {
		return
	}
	if b.body {
		size := len(bytes.TrimRight(l.out[b.from:b.open], " ")) + len(inner)
		if len(l.open) == 0 {
			size++ // gofmt counts one more where a function is declared
		}
		if size <= maxBody {
			return
		}
	} else if _, typ, _ := bytes.Cut(inner, []byte(" ")); len(typ) < maxField {
		return
	}
	inner = bytes.Clone(inner)
	l.out = append(bytes.TrimRight(l.out[:b.open], " "), " {\n"...)
	for range l.indent + 1 {
		l.out = append(l.out, '\t')
	}
	l.out = append(append(l.out, inner...), '\n')
	for range l.indent {
		l.out = append(l.out, '\t')
	}
	l.out = append(l.out, '}')
	l.breakPair()
}

// What gofmt leaves on one line: a function's head and body together, and a
// struct's field.
const (
	maxBody  = 100
	maxField = 30
)

// spaced tells whether a space stands before a token that begins no line.
func (l *layouter) spaced(i int, closed bracket) bool {
	prev, t := l.at(i-1), l.at(i)
	switch prev { // what stands behind it
	case token.LPAREN, token.LBRACK, token.PERIOD, token.AND, token.ELLIPSIS:
		return false
	case token.MUL:
		return l.at(i-2) == token.INT
	case token.COLON:
		if l.started && l.depth == len(l.open) && i >= 2 && l.tokens[i-2].lines > 0 {
			l.pairs[len(l.pairs)-1].value = len(l.out) + 1
		}
		return true
	case token.COMMA, token.SEMICOLON, token.ASSIGN, token.DEFINE, token.EQL, token.NEQ:
		return true
	case token.LBRACE:
		return t != token.RBRACE && l.open[len(l.open)-1].block
	}
	switch t {
	case token.RPAREN, token.RBRACK, token.COMMA, token.SEMICOLON, token.COLON, token.PERIOD:
		return false
	case token.ASSIGN, token.DEFINE, token.EQL, token.NEQ:
		return true
	case token.RBRACE:
		return closed.block
	case token.LBRACE:
		return prev != token.STRUCT && l.header == len(l.open)
	case token.ELLIPSIS:
		return l.at(i+1) != token.RPAREN
	case token.LBRACK:
		return prev == token.IDENT && l.at(i+1) == token.RBRACK || prev == token.RPAREN || prev.IsKeyword()
	case token.LPAREN:
		switch {
		case prev == token.FUNC:
			return len(l.open) == 0
		case prev == token.RPAREN: // of parameters, before the results
			return l.function >= 0 && l.header == len(l.open)
		}
		return prev.IsKeyword()
	case token.MUL, token.AND:
		return prev != token.RBRACK
	}
	return prev != token.RBRACK
}
