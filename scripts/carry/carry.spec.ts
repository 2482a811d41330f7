/** The command as a user runs it, on small repositories. */
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { CHANGES } from './changes/index.ts'
import { edited, withCrlf, type Tree } from './changes/testing/packages.ts'
import { smallHarness } from './changes/testing/trees.ts'
import { Repository } from './testing/repository.ts'

const BRANCH = 'fix/6074-6030-6285'
const REGISTRY = 'packages/jobs/jobs/src/index.ts'
const DRIVER = 'packages/goal/goal-round-driver/src/index.ts'
const subjects = CHANGES.map(({ message }) => message.split('\n')[0])

const repositories: Repository[] = []

afterEach(() => {
  for (const repository of repositories.splice(0)) repository.dispose()
})

function repositoryWith(tree?: Tree): Repository {
  const repository = new Repository(tree)
  repositories.push(repository)
  return repository
}

/** A repository that has the root's manifest, too. */
function harness(prefix?: string): Repository {
  return repositoryWith({ ...smallHarness(prefix), 'package.json': '{"scripts":{"typecheck":"tsc","hygiene":"x"}}\n' })
}

function subjectsOn(repository: Repository, branch: string): string[] {
  return repository.git('log', '--reverse', '--format=%s', `main..${branch}`).split('\n')
}

describe('a run', () => {
  it('makes one commit a change on a new branch, in order, and leaves everything else as it is', () => {
    const repository = harness()
    const [, ...before] = repository.state().slice(0, 4)
    const { exitCode, stdout, stderr } = repository.carry()
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(subjectsOn(repository, BRANCH)).toEqual(subjects)
    expect(repository.state().slice(1, 4)).toEqual(before)
    for (const { files } of CHANGES) {
      for (const path of files)
        expect(repository.git('show', `${BRANCH}:${path}`), path).toBe(readFileSync(path, 'utf8').trim())
    }
    for (const subject of subjects) expect(stdout).toContain(subject)
    expect(stdout).toMatch(/19 files added; in \d+ others \d+ lines added, \d+ taken away/)
    expect(stdout).toContain(`They are on the branch ${BRANCH}.`)
    expect(stdout).toMatch(
      /gates and generators of the checkout itself\.\n {2}pnpm run typecheck\n {2}pnpm run hygiene\n$/,
    )
  })

  it('says of a second one that all of it is there: on the branch, and where the branch is checked out', () => {
    const repository = harness()
    repository.carry()
    const before = repository.state()
    expect(repository.carry()).toEqual({
      exitCode: 0,
      stdout: `there already: all of it, on the branch ${BRANCH}.\n`,
      stderr: '',
    })
    expect(repository.state()).toEqual(before)
    repository.git('checkout', '--quiet', BRANCH)
    const { exitCode, stdout } = repository.carry()
    expect(exitCode).toBe(0)
    expect(stdout.split('\n')).toEqual([
      ...subjects.map(subject => `there already: ${subject}`),
      'Nothing to do: all of it is there already.',
      '',
    ])
  })

  it('adds what is missing where some of it is there', () => {
    const repository = harness()
    repository.carry('--only', 'jobs')
    repository.git('checkout', '--quiet', BRANCH)
    const { exitCode, stdout } = repository.carry('--branch', 'rest')
    expect(exitCode).toBe(0)
    expect(stdout.match(/^there already: /gm)).toHaveLength(3)
    expect(repository.git('log', '--format=%s', `${BRANCH}..rest`).split('\n')).toHaveLength(3)
  })

  it('takes some of the changes, to a branch of any name', () => {
    const repository = harness()
    expect(repository.carry('--only', 'write-back,guard', '--branch', 'mine').exitCode).toBe(0)
    expect(subjectsOn(repository, 'mine')).toEqual(subjects.slice(0, 2))
  })

  it('says the names of a fork, in files and messages', () => {
    const repository = harness('@fork/tool-')
    expect(repository.carry().exitCode).toBe(0)
    const patch = repository.git('diff', `main..${BRANCH}`)
    expect(patch).toContain('@fork/tool-')
    expect(patch).not.toContain('@deepseek-ai/')
  })

  it('keeps line endings and modes', () => {
    const repository = repositoryWith(withCrlf(smallHarness()))
    repository.makeExecutable(DRIVER)
    repository.commit()
    expect(repository.carry()).toMatchObject({ exitCode: 0, stderr: '' })
    expect(repository.git('ls-tree', BRANCH, DRIVER)).toMatch(/^100755 /)
    expect(repository.git('show', `${BRANCH}:${DRIVER}`)).not.toMatch(/[^\r]\n/)
    expect(repository.git('diff', '--numstat', `main..${BRANCH}`, '--', DRIVER)).toMatch(/^21\t2\t/)
  })
})

describe('a run that makes no branch', () => {
  it('prints every file of a dry run, and writes nothing', () => {
    const repository = harness()
    const before = repository.state()
    const { exitCode, stdout } = repository.carry('--dry-run')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^ {4}new packages\/goal\/goal-round-driver\/src\/ask-guard\.ts \+\d+ -0$/m)
    expect(stdout).toContain(`    ${DRIVER} +21 -2\n`)
    expect(stdout).toContain('Nothing was written: this was a dry run.')
    expect(repository.state()).toEqual(before)
  })

  it('writes patches for `git am`, which make the same files, and nothing into the checkout', () => {
    const repository = harness()
    const before = repository.state()
    const { exitCode, stdout } = repository.carry('--patches', 'some patches')
    const folder = join(repository.home, 'some patches')
    expect([exitCode, stdout.includes(`They are in ${folder}, for \`git am\`.`)]).toEqual([0, true])
    expect(repository.state()).toEqual(before)
    repository.git('am', '--quiet', ...readdirSync(folder).map(file => join(folder, file)))
    const applied = repository.git('rev-parse', 'HEAD^{tree}')
    expect(repository.git('log', '-6', '--reverse', '--format=%s').split('\n')).toEqual(subjects)
    repository.git('reset', '--quiet', '--hard', 'HEAD~6')
    repository.carry()
    expect(repository.git('rev-parse', `${BRANCH}^{tree}`)).toBe(applied)
  })

  it('says that it cannot write them', () => {
    const repository = harness()
    const file = join(repository.home, 'a file')
    writeFileSync(file, '')
    const { exitCode, stderr } = repository.carry('--patches', join(file, 'patches'))
    expect([exitCode, stderr]).toEqual([2, `carry: ENOTDIR: not a directory, mkdir '${join(file, 'patches')}'\n`])
  })
})

describe('a place that is missing', () => {
  const tree = edited(smallHarness(), REGISTRY, ', signal?: AbortSignal', '')

  it('is told with its commit and file; nothing is changed, and the rest can be had', () => {
    const repository = repositoryWith(tree)
    const before = repository.state()
    expect(repository.carry()).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `carry: feat(jobs): let output and steers end a wait
  ${REGISTRY}: the method wait with four parameters is there not at all
Nothing was changed. Without it: --only guard,write-back,bash
`,
    })
    expect(repository.state()).toEqual(before)
    expect(repository.carry('--only', 'guard,write-back').exitCode).toBe(0)
  })

  it('is told without advice where nothing else was asked for', () => {
    expect(repositoryWith(tree).carry('--only', 'jobs').stderr).toMatch(/\nNothing was changed\.\n$/)
  })

  it.each(['file', 'folder'])('is one behind a link to a %s, which is not followed', kind => {
    const repository = repositoryWith(smallHarness())
    const outside = repositoryWith(smallHarness())
    const path = kind === 'file' ? DRIVER : 'packages/goal'
    rmSync(join(repository.folder, path), { recursive: true })
    symlinkSync(join(outside.folder, path), join(repository.folder, path))
    repository.commit()
    const { exitCode, stderr } = repository.carry()
    expect(exitCode).toBeGreaterThan(0)
    expect(stderr).toMatch(kind === 'file' ? /index\.ts: there is no such file/ : /not a checkout of DeepSeek Harness/)
    expect(outside.git('status', '--porcelain')).toBe('')
  })
})

describe('what is refused in one line, with nothing changed', () => {
  function expectRefusal(repository: Repository, reason: RegExp, ...args: string[]) {
    const { exitCode, stdout, stderr } = repository.carry(...args)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(reason)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }

  it.each([
    ['changed', REGISTRY, false],
    ['staged', REGISTRY, true],
    ['untracked', 'other.txt', false],
  ])('a work tree with a file that is %s', (_name, path, isStaged) => {
    const repository = harness()
    repository.write(path, '')
    if (isStaged) repository.git('add', path)
    const before = repository.state()
    expectRefusal(repository, /: the work tree is not clean \(.*\); commit or stash what is there\n$/)
    expect(repository.state()).toEqual(before)
  })

  it('another branch of the name', () => {
    const repository = harness()
    repository.git('branch', BRANCH)
    const before = repository.state()
    expectRefusal(repository, /there is a branch .* already; name another one with --branch\n$/)
    expect(repository.state()).toEqual(before)
  })

  it('a folder without git, a folder of a work tree, and a repository without a commit', () => {
    const repository = harness()
    expectRefusal(repositoryWith(), /: nothing is committed yet \(git rev-parse: /)
    expect(repository.run(repository.home)).toMatchObject({ exitCode: 2, stdout: '' })
    expect(repository.run(repository.home).stderr).toMatch(/: no git work tree \(git rev-parse: fatal: not a git/)
    expect(repository.run(join(repository.folder, 'packages')).stderr).toMatch(/: not the root of its work tree, /)
  })

  it('what is not the harness', () => {
    expectRefusal(repositoryWith({ 'package.json': '{}' }), /not a checkout of DeepSeek Harness: there is no packages/)
  })

  it('a generation without the registry, or with one that publishes events', () => {
    const events = edited(smallHarness(), REGISTRY, 'JobRegistry {', 'JobRegistry {\n  events = publish()\n')
    expectRefusal(repositoryWith(events), /an unknown generation of the job registry: JobRegistry has `events`/)
    const gone = Object.fromEntries(Object.entries(smallHarness()).filter(([path]) => path !== REGISTRY))
    expectRefusal(repositoryWith(gone), /an unknown generation of the harness: there is no packages\/jobs/)
  })

  it('an author whom git does not know', () => {
    const repository = harness()
    const config = join(repository.home, 'none')
    writeFileSync(config, '[user]\nuseConfigOnly = true\n')
    Object.assign(repository.env, { GIT_CONFIG_GLOBAL: config })
    for (const name of ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_COMMITTER_NAME', 'GIT_COMMITTER_EMAIL'])
      Reflect.deleteProperty(repository.env, name)
    expectRefusal(repository, /^carry: git commit-tree: Author identity unknown\n$/)
    expect(repository.git('branch', '--list', BRANCH)).toBe('')
  })
})

describe('a call', () => {
  it.each([
    [[], /^carry: name one checkout\n\npnpm carry <checkout>/],
    [['a', 'b'], /^carry: name one checkout\n/],
    [['a', '--only', 'jobs,job'], /^carry: --only: job is none of guard, write-back, jobs, bash\n/],
    [['a', '--brunch', 'x'], /^carry: Unknown option '--brunch'/],
  ])('that makes no sense is refused: %j', (args, reason) => {
    const { exitCode, stderr } = repositoryWith().run(...args)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(reason)
  })

  it('for help prints it', () => {
    const { exitCode, stdout } = repositoryWith().run('--help')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^pnpm carry <checkout> \[--only guard,write-back,jobs,bash\]/)
  })
})
