package vet

import (
	"go/types"
	"strings"
	"sync"
)

// effect is what a call does besides computing. The text completes the
// sentence "Cart.AddItem ...".
type effect string

const (
	waits       effect = "can block"
	clock       effect = "reads the clock"
	random      effect = "reads random numbers"
	environment effect = "reads the environment"
	awaits      effect = "waits in wow.Await" // which every handler but a replayed one may
)

// known is the table, by package path.
var known = sync.OnceValue(func() map[string][]row { return parseKnown(table) })

// table lists what is known of functions elsewhere: package path, effect,
// names. Methods are written Type.Name; a star stands for any rest, or any
// beginning. What is not listed is taken to do nothing.
const table = `
time  waits  Sleep
time  clock  Now Since Until

sync  waits  WaitGroup.Wait Cond.Wait
golang.org/x/sync/errgroup  waits  Group.Wait
golang.org/x/sync/semaphore  waits  Weighted.Acquire
golang.org/x/sync/singleflight  waits  Group.Do

os  waits  Chdir Chmod Chown Chtimes CopyFS Create CreateTemp Lchown Link Lstat Mkdir* Open* Pipe
os  waits  ReadDir ReadFile Readlink Remove* Rename StartProcess Stat Symlink Truncate WriteFile
os  waits  File.Chdir File.Chmod File.Chown File.Close File.Read* File.Seek File.Stat File.Sync File.Truncate File.Write*
os  waits  Process.Wait Root.*
os  environment  Environ Executable ExpandEnv Getenv Getegid Geteuid Getgid Getpid Getppid Getuid Getwd Hostname LookupEnv
os  environment  TempDir UserCacheDir UserConfigDir UserHomeDir
os/user  environment  Current Lookup*
os/exec  waits  Cmd.Run Cmd.Output Cmd.CombinedOutput Cmd.Start Cmd.Wait LookPath
io/ioutil  waits  ReadDir ReadFile TempDir TempFile WriteFile
path/filepath  waits  EvalSymlinks Glob Walk WalkDir

net  waits  Dial* Listen* Lookup* ResolveIPAddr ResolveTCPAddr ResolveUDPAddr Dialer.Dial* ListenConfig.Listen* Resolver.Lookup*
net  waits  Conn.Read Conn.Write PacketConn.ReadFrom PacketConn.WriteTo Listener.Accept
net  waits  TCPConn.Read* TCPConn.Write* UDPConn.Read* UDPConn.Write* UnixConn.Read* UnixConn.Write*
net  waits  TCPListener.Accept* UnixListener.Accept*
net/http  waits  Get Head Post PostForm ListenAndServe* Serve ServeTLS Client.Do Client.Get Client.Head Client.Post Client.PostForm
net/http  waits  RoundTripper.RoundTrip Transport.RoundTrip Server.ListenAndServe* Server.Serve* Server.Shutdown
net/rpc  waits  Dial* Client.Call
net/smtp  waits  Dial SendMail Client.*
crypto/tls  waits  Dial* Dialer.Dial* Conn.Read Conn.Write Conn.Handshake*

database/sql  waits  DB.Begin* DB.Conn DB.Exec* DB.Ping* DB.Prepare* DB.Query* Conn.BeginTx Conn.Exec* Conn.Ping* Conn.Prepare* Conn.Query*
database/sql  waits  Tx.Commit Tx.Rollback Tx.Exec* Tx.Prepare* Tx.Query* Stmt.Exec* Stmt.Query* Row.Scan Rows.Next Rows.NextResultSet
github.com/jackc/pgx/v5  waits  Connect* Conn.Begin* Conn.CopyFrom Conn.Exec Conn.Ping Conn.Prepare Conn.Query* Conn.SendBatch Tx.Commit Tx.Exec Tx.Query* Tx.Rollback Row.Scan Rows.Next
github.com/jackc/pgx/v5/pgxpool  waits  Pool.Acquire Pool.Begin* Pool.CopyFrom Pool.Exec Pool.Ping Pool.Query* Pool.SendBatch

github.com/wowgen/wow  awaits  Await
github.com/wowgen/wow/runtime  waits  Gateway.Load Gateway.Send* Gateway.Wait Runtime.Quiesce Runtime.Start Runtime.Stop
github.com/wowgen/wow/runtime/store  waits  Store.*

math/rand  random  ExpFloat64 Float* Int* NormFloat64 Perm Read Shuffle Uint*
math/rand/v2  random  ExpFloat64 Float* Int* N NormFloat64 Perm Shuffle Uint*
crypto/rand  random  Int Prime Read Text
hash/maphash  random  MakeSeed
github.com/google/uuid  random  New NewRandom* NewString NewUUID NewV6* NewV7*

slices  writes:0  Sort SortFunc SortStableFunc Reverse Delete* Compact* Insert Replace
sort  writes:0  Float64s Ints Slice SliceStable Sort Stable Strings
maps  writes:0  Copy DeleteFunc Insert
bytes  writes:0  Buffer.Read* Buffer.Reset Buffer.Truncate Buffer.Write*
strings  writes:0  Builder.Reset Builder.Write*
math/big  writes:0  Int.Abs Int.Add Int.Div Int.Exp Int.Mod Int.Mul Int.Neg Int.Quo Int.Rem Int.Set* Int.Sub Float.Add Float.Mul Float.Quo Float.Set* Float.Sub Rat.Add Rat.Mul Rat.Quo Rat.Set* Rat.Sub
container/list  writes:0  List.Init List.Insert* List.Move* List.Push* List.Remove
container/heap  writes:0  Fix Init Pop Push Remove
sync/atomic  writes:0  Add* CompareAndSwap* Store* Swap* Bool.Store Bool.Swap Int32.Add Int32.Store Int32.Swap Int64.Add Int64.Store Int64.Swap Pointer.Store Uint32.Add Uint32.Store Uint64.Add Uint64.Store Value.Store
encoding/json  writes:1  Unmarshal

slices  calls  *Func
sort  calls  Find Search Slice*
maps  calls  DeleteFunc EqualFunc
strings  calls  *Func Map
bytes  calls  *Func Map
sync  calls  Once.Do Map.Range
path/filepath  calls  Walk WalkDir
`

// row is one line of the table.
type row struct {
	effect effect
	writes int // the argument, the receiver being 0, whose memory is written; -1: none
	calls  bool
	names  []string
}

func parseKnown(table string) map[string][]row {
	words := map[string]effect{"waits": waits, "clock": clock, "random": random, "environment": environment, "awaits": awaits}
	rows := map[string][]row{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		r := row{effect: words[fields[1]], writes: -1, names: fields[2:]}
		switch fields[1] {
		case "writes:0":
			r.writes = 0
		case "writes:1":
			r.writes = 1
		case "calls":
			r.calls = true
		}
		rows[fields[0]] = append(rows[fields[0]], r)
	}
	return rows
}

// match tells whether the row is about a function of that name.
func (r *row) match(name string) bool {
	for _, pattern := range r.names {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, prefix) {
			return true
		}
		if suffix, ok := strings.CutPrefix(pattern, "*"); ok && strings.HasSuffix(name, suffix) {
			return true
		}
		if pattern == name {
			return true
		}
	}
	return false
}

// lookup returns what the table says of fn: nothing for most functions.
func lookup(fn *types.Func) (e effect, writes int, calls bool) {
	writes = -1
	if fn == nil || fn.Pkg() == nil {
		return
	}
	rows := known()[fn.Pkg().Path()]
	if rows == nil {
		return
	}
	name := shortName(fn)
	for i := range rows {
		if !rows[i].match(name) {
			continue
		}
		if rows[i].effect != "" {
			e = rows[i].effect
		}
		if rows[i].writes >= 0 {
			writes = rows[i].writes
		}
		calls = calls || rows[i].calls
	}
	return
}

// shortName is Type.Name of a method and the name of a function.
func shortName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		if n := named(t); n != nil {
			return n.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// qualifiedName is a function's name as somebody in another package writes it.
func qualifiedName(fn *types.Func, from *types.Package) string {
	name := shortName(fn)
	if fn.Pkg() != nil && fn.Pkg() != from {
		return fn.Pkg().Name() + "." + name
	}
	return name
}
