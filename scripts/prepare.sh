# For scripts/dsh and scripts/install-into-dsh, which set `root` (this repository) and `me` (the name that messages begin
# with): installs and builds what is missing or older than its source, with progress on stderr.

node=$root/node_modules/node/bin/node

say() { printf '%s: %s\n' "$me" "$*" >&2; }
refuse() { say "$*"; exit 2; }

# Our stamps have the time at which the work began, so that what changes meanwhile counts as newer. pnpm keeps one too.
installed=$root/node_modules/.dsh-installed
installed_by_pnpm=$root/node_modules/.pnpm-workspace-state-v1.json
built=$root/node_modules/.dsh-built

older_than() { # <stamp> <file or folder>...; a stamp that is missing is older than everything
  [ ! -e "$1" ] || [ -n "$(find "${@:2}" -newer "$1" 2>/dev/null | head -n 1)" ]
}

work() { # <what> <stamp> <command>...; shows what the command said only if it failed
  local start output
  say "$1 …"
  start=$(mktemp)
  if ! output=$(cd "$root" && "${@:3}" </dev/null 2>&1); then
    rm -f "$start"
    printf '%s\n' "$output" >&2
    say "failed: ${*:3}"
    exit 1
  fi
  mv "$start" "$2"
}

install_if_needed() {
  local manifests=("$root"/pnpm-lock.yaml "$root"/pnpm-workspace.yaml "$root"/{,packages/*/*/}package.json)
  if ! older_than "$installed" "${manifests[@]}" || ! older_than "$installed_by_pnpm" "${manifests[@]}"; then return 0; fi
  command -v npx >/dev/null || refuse 'npx is missing: install Node 20 or newer with npm'
  work installing "$installed" env CI=true npx --yes pnpm@10.34.9 install --frozen-lockfile
}

built_everywhere() {
  local source
  for source in "$root"/packages/*/*/src; do [ -e "${source%src}lib/index.js" ] || return 1; done
}

build_if_needed() {
  local sources=("$root"/tsconfig*.json "$root"/packages/*/*/tsconfig.json "$root"/packages/*/*/src)
  if built_everywhere && ! older_than "$built" "${sources[@]}"; then return 0; fi
  work building "$built" "$node" node_modules/typescript/bin/tsc -b
}
