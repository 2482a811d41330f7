/** A git repository with a small harness in it, and the command run on it as a user runs it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Tree } from '../changes/testing/packages.ts'

const command = join(import.meta.dirname, '../index.ts')

/** What a run of the command came to. */
export interface Run {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A repository in a temporary folder, with a space in its path. */
export class Repository {
  readonly home = mkdtempSync(join(tmpdir(), 'carry test '))
  readonly folder = join(this.home, 'the checkout')
  readonly env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: this.home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'C',
    GIT_COMMITTER_EMAIL: 'c@example.com',
  }

  /**
   * @param tree - its files, all committed; without one nothing is.
   */
  constructor(tree?: Tree) {
    mkdirSync(this.folder)
    this.git('init', '--quiet', '--initial-branch=main')
    if (tree === undefined) return
    for (const [path, text] of Object.entries(tree)) this.write(path, text)
    this.commit()
  }

  /**
   * Write a file.
   * @param path - from the root.
   * @param text - all of it.
   */
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    writeFileSync(join(this.folder, path), text)
  }

  /**
   * Let a file be run.
   * @param path - from the root.
   */
  makeExecutable(path: string): void {
    chmodSync(join(this.folder, path), 0o755)
  }

  /** Commit whatever is there. */
  commit(): void {
    this.git('add', '--all')
    this.git('-c', 'core.autocrlf=false', 'commit', '--quiet', '--message', 'as it is')
  }

  /**
   * Run git.
   * @param args - the command and its arguments.
   * @returns what it printed, trimmed.
   */
  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.folder, env: this.env, encoding: 'utf8', stdio: 'pipe' }).trim()
  }

  /** @returns everything that a run may change: references, the checked-out commit, the index, the work tree, objects. */
  state(): string[] {
    return [
      this.git('show-ref'),
      this.git('symbolic-ref', 'HEAD'),
      this.git('status', '--porcelain', '--ignored'),
      this.git('ls-files', '--stage'),
      this.git('count-objects'),
    ]
  }

  /**
   * Run the command on the repository.
   * @param args - its options.
   * @returns its output.
   */
  carry(...args: string[]): Run {
    return this.run(this.folder, ...args)
  }

  /**
   * Run the command.
   * @param args - all of its arguments.
   * @returns its output.
   */
  run(...args: string[]): Run {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', command, ...args], {
      cwd: this.home,
      env: this.env,
      encoding: 'utf8',
    })
    return { exitCode: status, stdout, stderr }
  }

  /** Remove the folder. */
  dispose(): void {
    rmSync(this.home, { recursive: true })
  }
}
