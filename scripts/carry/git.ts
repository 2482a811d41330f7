/**
 * Git in one checkout, without its hooks, its configuration of colours and its work tree.
 * @module
 */
import { execFileSync, type ExecFileSyncOptions } from 'node:child_process'
import { Refusal } from './refusal.ts'

/** Runs git in one repository. */
export class Git {
  private readonly folder: string
  private readonly env: Readonly<Record<string, string>>

  /**
   * @param folder - where to run it.
   * @param env - variables on top of this process's own.
   */
  constructor(folder: string, env: Readonly<Record<string, string>> = {}) {
    this.folder = folder
    this.env = env
  }

  /**
   * The same repository with other variables.
   * @param env - variables on top of those that are set already.
   * @returns another runner.
   */
  with(env: Readonly<Record<string, string>>): Git {
    return new Git(this.folder, { ...this.env, ...env })
  }

  /**
   * Run a command to its end.
   * @param args - the command and its arguments.
   * @param input - what it reads from its standard input.
   * @returns what it wrote, without the last newline.
   * @throws Refusal with git's own message, if it fails.
   */
  run(args: readonly string[], input?: string): string {
    return this.bytes(args, input).toString('utf8').replace(/\n$/, '')
  }

  /**
   * Run a command to its end.
   * @param args - the command and its arguments.
   * @param input - what it reads from its standard input.
   * @returns what it wrote, as it is.
   * @throws Refusal with git's own message, if it fails.
   */
  bytes(args: readonly string[], input = ''): Buffer {
    const options: ExecFileSyncOptions = {
      cwd: this.folder,
      env: { ...process.env, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C', ...this.env },
      input,
      maxBuffer: 2 ** 28,
      stdio: 'pipe',
    }
    try {
      return execFileSync('git', ['-c', 'core.quotePath=false', ...args], options) as Buffer
    } catch (error) {
      const { stderr, message } = error as Error & { readonly stderr: Buffer | null }
      const [reason = message] = stderr?.toString('utf8').trim().split('\n') ?? []
      throw new Refusal(`git ${args[0]}: ${reason}`)
    }
  }
}
