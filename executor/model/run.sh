#!/usr/bin/env bash
# Checks every model of the executor's hand-offs by full search: the right one
# must have no error, and each bug planted in it (-DBUG_x) must be found. Fails
# otherwise. Needs spin and a C compiler.
#
#	run.sh              # all models
#	run.sh close.pml    # one
set -uo pipefail
cd "$(dirname "$0")"

if ! command -v spin >/dev/null; then
	echo "executor/model: spin is not installed. Debian, Ubuntu: apt-get install spin; macOS: brew install spin; source: https://spinroot.com" >&2
	exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# search MODEL BUG writes "errors states" to a file, or nothing if there was no
# full search. Without a bug, BUG is "right".
search() {
	local dir="$work/$1.$2" flag=()
	[ "$2" = right ] || flag=("-D$2")
	mkdir "$dir"
	cp ./*.h "$1.pml" "$dir"
	(
		cd "$dir" &&
			spin "${flag[@]}" -a "$1.pml" &&
			cc -O1 -w -DSAFETY -o pan pan.c &&
			./pan -E -m100000 -w22
	) >"$dir/log" 2>&1
	awk '/errors:/ { errors = $NF } /states, stored/ { states = $1 }
		/max search depth too small|out of memory/ { cut = 1 }
		END { if (errors != "" && !(cut && errors == 0)) print errors, states }' "$dir/log" >"$dir/result"
}

bugs() { grep -oE '^ \* BUG_[A-Z_]+' "$1.pml" | grep -oE 'BUG_[A-Z_]+'; }

models=()
for file in "${@:-}"; do
	[ -n "$file" ] && models+=("$(basename "$file" .pml)")
done
[ ${#models[@]} -gt 0 ] || models=($(basename -s .pml ./*.pml))

for model in "${models[@]}"; do
	for bug in right $(bugs "$model"); do
		while [ "$(jobs -rp | wc -l)" -ge "$(getconf _NPROCESSORS_ONLN)" ]; do wait -n; done
		search "$model" "$bug" &
	done
done
wait

failed=0
bad() {
	echo "$1"
	[ ! -f "${2:-}" ] || head -30 "$2"
	failed=1
}
for model in "${models[@]}"; do
	read -r errors states <"$work/$model.right/result" || errors=
	found=()
	for bug in $(bugs "$model"); do
		grep -qE "^#if.*$bug" "$model.pml" || bad "$model: $bug is named but not planted"
		read -r n _ <"$work/$model.$bug/result" || n=
		if [ "${n:-0}" -gt 0 ]; then
			found+=("${bug#BUG_}")
		else
			bad "$model: planted $bug was NOT FOUND" "$work/$model.$bug/log"
		fi
	done
	[ ${#found[@]} -gt 0 ] || bad "$model: no planted bug was found; a model that cannot fail proves nothing"
	if [ "$errors" = 0 ]; then
		printf '%-10s no error in %8s states; planted and found: %s\n' "$model" "$states" "${found[*]}"
	else
		bad "$model: WRONG, or the search was not full" "$work/$model.right/log"
	fi
done
exit $failed
