/** What must hold of a package as it is packed, beyond what publint and attw look at. */
import { posix } from 'node:path'
import { forkedImport } from '../forked.mjs'
import { harnessVersions, rangeProblems } from './peer-range.ts'

/** The fields of a packed `package.json` that the rules read. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly type?: string
  readonly repository?: { readonly directory?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** A tarball's content: every path in it, its README, and the text of its modules and declarations. */
export interface PackedPackage {
  readonly manifest: Manifest
  readonly files: readonly string[]
  readonly readme: string
  readonly sources: readonly string[]
}

/** Harness packages by their release; the Cordis family has versions of its own. */
const HARNESS = /^@deepseek-ai\/dsh(-|$)/

const REQUIRED_FILES = ['package.json', 'README.md', 'LICENSE', 'lib/index.js', 'lib/types/index.d.ts']

const ALLOWED_FILE = /^(package\.json|README\.md|LICENSE|lib\/(?!types\/).+\.js|lib\/types\/.+\.d\.ts)$/

/**
 * Hold a package against the rules.
 * @param packed - what is in its tarball.
 * @param version - the version that all our packages have.
 * @returns what is wrong, in sentences.
 */
export function packageProblems(packed: PackedPackage, version: string): string[] {
  return [
    ...fileProblems(packed),
    ...linkProblems(packed),
    ...manifestProblems(packed.manifest, version),
    ...importProblems(packed),
  ]
}

function fileProblems({ files }: PackedPackage): string[] {
  return [
    ...REQUIRED_FILES.filter(file => !files.includes(file)).map(file => `${file} is missing`),
    ...files.filter(file => !ALLOWED_FILE.test(file)).map(file => `${file} does not belong in the package`),
  ]
}

/** A link of the README leads to a file of the tarball or to an address: nothing else is there for its reader. */
function linkProblems({ files, readme }: PackedPackage): string[] {
  const links = [...readme.matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link)
  return links
    .filter(link => !/^\w+:/.test(link) && !files.includes(posix.normalize(link)))
    .map(link => `README.md links to ${link}, which is not in the package`)
}

function manifestProblems(manifest: Manifest, version: string): string[] {
  const { license, type, repository, dependencies = {}, peerDependencies = {} } = manifest
  const directory = new RegExp(`^packages/[a-z-]+/${manifest.name.replace('@deepseek-ai/dsh-', '')}$`)
  return [
    ...(manifest.version === version ? [] : [`its version is ${manifest.version}, not ${version}`]),
    ...(license === 'MIT' ? [] : ['its license is not MIT']),
    ...(type === 'module' ? [] : ['its type is not "module"']),
    ...(directory.test(repository?.directory ?? '') ? [] : ['its repository.directory is not packages/<group>/<name>']),
    ...Object.keys(dependencies)
      .filter(name => HARNESS.test(name))
      .map(name => `${name} must be a peer: there is one copy of every harness module in a process`),
    ...Object.entries(peerDependencies)
      .filter(([name]) => HARNESS.test(name))
      .flatMap(([name, range]) => peerProblems(name, range, version)),
  ]
}

/** A peer that stands here itself may be asked for as such: its published original lacks what the fix brings. */
function peerProblems(name: string, range: string, version: string): string[] {
  const needsOurs = forkedImport(name) !== undefined && range === `^${version}`
  const versions = needsOurs ? { ...harnessVersions, tested: [] } : harnessVersions
  return rangeProblems(range, version, versions).map(text => `peer ${name}: ${text}`)
}

/** Every package that the code imports is declared. (The other way round is no fault: a service needs no import.) */
function importProblems({ manifest, sources }: PackedPackage): string[] {
  const known = new Set([manifest.name, ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })])
  const imported = new Set(sources.flatMap(importedPackages))
  return [...imported].filter(name => !known.has(name)).map(name => `${name} is imported, but not declared`)
}

/** The packages that one module or declaration file names in its imports; Node's own and relative ones left out. */
function importedPackages(source: string): string[] {
  const code = source.replaceAll(/\/\*[^]*?\*\//g, '')
  const pattern = /\b(?:from|import|module)\s*\(?\s*['"]((?:@[\w-]+\/)?[\w-][\w.-]*)(?:\/[^'"]*)?['"]/g
  return [...code.matchAll(pattern)].map(([, name = '']) => name)
}
