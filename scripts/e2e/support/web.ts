/** `dsh web` as a process, and what a user does in its page. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename } from 'node:path'
import type { ModelServer } from '@deepseek-ai/dsh-test-model-server'
import type { Page } from 'playwright-core'
import type { Home } from './home.ts'
import { splitLoaded } from './run-dsh.ts'

/** A running server. Disposing it stops the process. */
export interface DshWeb extends AsyncDisposable {
  readonly url: string
  /** Where each forked package was loaded from until now, by its import. */
  loaded(): Readonly<Record<string, string>>
}

/**
 * Start `dsh web` on a free port of 127.0.0.1.
 * @param command - the CLI, and what stands before it; it must show what it loads.
 * @param home - where it runs.
 * @param model - the model it talks to.
 * @param env - what its environment has besides.
 * @returns the server, listening.
 */
export async function startWeb(
  [command = '', ...args]: readonly string[],
  home: Home,
  model: ModelServer,
  env: Readonly<Record<string, string>> = {},
): Promise<DshWeb> {
  const child = spawn(command, [...args, 'web', '--no-open', '--port', '0'], {
    cwd: home.workspace,
    env: { ...home.env(model), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'close')
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout)?.[0]
      if (url !== undefined) resolve(url)
    })
    child.on('error', reject)
    child.on('close', code => {
      reject(new Error(`dsh web ended with ${code}:\n${stdout}${stderr}`))
    })
  })
  return {
    url,
    loaded: () => splitLoaded(stderr).loaded,
    [Symbol.asyncDispose]: async () => {
      child.kill()
      await exited
    },
  }
}

/**
 * Open a session in the workspace of a home that has no session yet, and send its first message.
 * @param page - a new browser's page.
 * @param web - the server.
 * @param home - its home.
 * @param message - what the user writes.
 */
export async function startSession(page: Page, web: DshWeb, home: Home, message: string): Promise<void> {
  await page.goto(web.url)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Choose workspace' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: basename(home.workspace) }).click()
  await dialog.getByRole('button', { name: 'Open' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('textbox').last().fill(message)
  await page.getByRole('button', { name: 'Send message' }).click()
}

/**
 * Write to an agent that is at work, so that it is told at its next step.
 * @param page - the page of its session.
 * @param message - what the user writes.
 */
export async function steer(page: Page, message: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message the agent' }).fill(message)
  await page.keyboard.press('Control+Enter')
}

/**
 * Answer a question in the session's page, in words.
 * @param page - the page.
 * @param question - the question.
 * @param text - the answer.
 */
export async function answer(page: Page, question: string, text: string): Promise<void> {
  const card = page.getByRole('region', { name: question })
  await card.getByRole('textbox', { name: 'Type your answer' }).fill(text)
  await card.getByRole('button', { name: 'Submit' }).click()
}

/**
 * Wait until a text is to be seen.
 * @param page - the page.
 * @param text - the text, or a part of it.
 */
export async function seen(page: Page, text: string): Promise<void> {
  await page.getByText(text).filter({ visible: true }).first().waitFor()
}
