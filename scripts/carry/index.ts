/**
 * `pnpm carry <checkout>`: the changes of this repository as commits on a checkout of DeepSeek Harness or a fork of it.
 * Exit codes: 0 done, or there already; 1 a place was not found; 2 the checkout or the call is not what it should be.
 * @module
 */
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { carry, GROUPS, isThere, type Change, type Group } from './change.ts'
import { CHANGES } from './changes/index.ts'
import { Checkout } from './checkout.ts'
import { Draft } from './draft.ts'
import { checkGeneration } from './generation.ts'
import { MissingPlace, Refusal } from './refusal.ts'
import { renderCommit, renderRest } from './report.ts'
import { readScope } from './scope.ts'
import { makeCommits } from './write.ts'

const HELP = `pnpm carry <checkout> [--only ${GROUPS.join(',')}] [--branch <name>] [--patches <folder>] [--dry-run]

Puts the changes as commits on a new branch of a clean checkout of DeepSeek Harness or a fork of it, and leaves its work
tree as it is.

  --only <groups>     some of the changes only, by commas: ${GROUPS.join(', ')}
  --branch <name>     the branch to make; by default fix/6074-6030-6285
  --patches <folder>  files for \`git am\` instead of a branch
  --dry-run           print what would change, file by file, and write nothing`

interface Options {
  readonly folder: string
  readonly only: readonly Group[]
  readonly branch: string
  readonly patches: string | undefined
  readonly dryRun: boolean
}

/** @returns what the call asks for, or `undefined` where it asks for help. */
function readOptions(args: readonly string[]): Options | undefined {
  const { values, positionals } = parse(args)
  if (values.help === true) return undefined
  const [folder] = positionals
  if (folder === undefined || positionals.length > 1) throw new Refusal(`name one checkout\n\n${HELP}`)
  const only = (values.only ?? GROUPS.join(',')).split(',').map(name => {
    const group = GROUPS.find(known => known === name)
    if (group === undefined) throw new Refusal(`--only: ${name} is none of ${GROUPS.join(', ')}`)
    return group
  })
  // Paths count from where the user calls, also through a package script.
  const from = (path: string) => resolve(process.env.INIT_CWD ?? '.', path)
  return {
    folder: from(folder),
    only,
    branch: values.branch ?? 'fix/6074-6030-6285',
    patches: values.patches === undefined ? undefined : from(values.patches),
    dryRun: values['dry-run'] ?? false,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        only: { type: 'string' },
        branch: { type: 'string' },
        patches: { type: 'string' },
        'dry-run': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new Refusal(`${(error as Error).message}\n\n${HELP}`)
  }
}

function main(options: Options): void {
  const checkout = Checkout.open(options.folder)
  const draft = new Draft(checkout)
  const scope = readScope(path => checkout.read(path))
  checkGeneration(draft)
  for (const change of CHANGES.filter(({ group }) => options.only.includes(group))) collect(change)
  if (draft.commits.length === 0) {
    console.log('Nothing to do: all of it is there already.')
    return
  }
  const rest = renderRest(checkout.read('package.json'))
  if (write(checkout, draft, options)) console.log(rest)

  function collect(change: Change): void {
    const subject = scope.rename(change.message.split('\n')[0] ?? '')
    try {
      if (isThere(change, draft, scope)) console.log(`there already: ${subject}`)
      else carry(change, draft, scope)
    } catch (error) {
      if (!(error instanceof MissingPlace)) throw error
      const others = options.only.filter(group => group !== change.group)
      const rest = others.length > 0 ? ` Without it: --only ${others.join(',')}` : ''
      throw new MissingPlace(`${subject}\n  ${error.message}\nNothing was changed.${rest}`)
    }
  }
}

/** @returns whether anything is new. */
function write(checkout: Checkout, draft: Draft, { branch, patches, dryRun }: Options): boolean {
  const isBranchTaken = patches === undefined && checkout.git.run(['branch', '--list', branch]) !== ''
  const intoCheckout = !dryRun && patches === undefined && !isBranchTaken
  const { made, tree } = makeCommits(
    checkout,
    draft.commits,
    (git, tip) => {
      if (intoCheckout) git.run(['branch', branch, tip])
      if (patches === undefined || dryRun) return
      mkdirSync(patches, { recursive: true })
      git.run(['format-patch', '--quiet', '--output-directory', patches, `${checkout.head}..${tip}`])
    },
    intoCheckout,
  )
  if (isBranchTaken) {
    if (checkout.git.run(['rev-parse', `${branch}^{tree}`]) !== tree)
      throw new Refusal(`there is a branch ${branch} already; name another one with --branch`)
    console.log(`there already: all of it, on the branch ${branch}.`)
    return false
  }
  for (const commit of made) console.log(renderCommit(commit, dryRun))
  if (dryRun) console.log('Nothing was written: this was a dry run.')
  else
    console.log(patches === undefined ? `They are on the branch ${branch}.` : `They are in ${patches}, for \`git am\`.`)
  return true
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) console.log(HELP)
  else main(options)
} catch (error) {
  // A folder that cannot be written, say.
  const isOfSystem = error instanceof Error && 'syscall' in error
  if (!(error instanceof Refusal) && !isOfSystem) throw error
  console.error(`carry: ${error.message}`)
  process.exitCode = error instanceof Refusal ? error.exitCode : 2
}
