/**
 * `pnpm check:packages`: packs every published package and looks at the tarball as a distribution would get it: our own
 * rules, publint, and @arethetypeswrong/cli. Prints what is wrong and exits with 1.
 */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { packAll, readJson, root, runTool, unpack, type Tarball } from './pack.ts'
import { packageProblems, type Manifest, type PackedPackage } from './rules.ts'

const folder = await mkdtemp(join(tmpdir(), 'dsh-packages-'))
try {
  const { version } = await readJson<{ version: string }>(join(root, 'packages/goal/goal-round-driver/package.json'))
  const tarballs = await packAll(folder)
  const checked = await Promise.all(
    tarballs.map(async tarball => ({ tarball, problems: await problemsOf(tarball, version) })),
  )
  for (const { tarball, problems } of checked) {
    console.log(`${problems.length === 0 ? 'ok   ' : 'WRONG'} ${tarball.name}`)
    for (const problem of problems) console.log(`      ${problem}`)
  }
  process.exitCode = checked.some(({ problems }) => problems.length > 0) ? 1 : 0
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function problemsOf(tarball: Tarball, version: string): Promise<string[]> {
  const unpacked = await unpack(tarball, join(folder, tarball.name.replace('/', '-')))
  const manifest = await readJson<Manifest>(join(unpacked, 'package.json'))
  return [
    ...packageProblems({ manifest, ...(await contentOf(unpacked)) }, version),
    ...(await publintProblems(tarball, manifest)),
    ...(await typeProblems(tarball)),
  ]
}

async function contentOf(unpacked: string): Promise<Omit<PackedPackage, 'manifest'>> {
  const entries = await readdir(unpacked, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const sources = paths.filter(path => path.endsWith('.js') || path.endsWith('.d.ts'))
  return {
    files: paths.map(path => path.slice(unpacked.length + 1)),
    readme: await readFile(join(unpacked, 'README.md'), 'utf8'),
    sources: await Promise.all(sources.map(path => readFile(path, 'utf8'))),
  }
}

async function publintProblems({ filename }: Tarball, manifest: Manifest): Promise<string[]> {
  const tarball = Uint8Array.from(await readFile(filename)).buffer
  const { messages } = await publint({ pack: { tarball }, strict: true })
  return messages.map(
    message => `publint: ${formatMessage(message, { ...manifest }, { color: false }) ?? message.code}`,
  )
}

async function typeProblems({ filename }: Tarball): Promise<string[]> {
  const { ok, output } = await runTool('@arethetypeswrong/cli/dist/index.js', [filename, '--profile', 'esm-only'])
  return ok ? [] : [`attw: ${output}`]
}
