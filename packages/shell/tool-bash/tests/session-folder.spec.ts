import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy'
import { newWorld, tempFolder, textOf } from './harness.ts'
import { scriptedShell, ShellScript } from './scripted-shell.ts'

/** A folder, and a second name for it. */
function folderWithLink() {
  const folder = tempFolder()
  const link = join(tempFolder(), 'link')
  symlinkSync(folder, link)
  return { folder, link }
}

describe('the folder of a command', () => {
  /** The folder in the request of one call; `undefined` stands for none. */
  async function folderOf(args: object, cwd?: string | null): Promise<string | undefined> {
    const script = new ShellScript()
    const world = await newWorld({ shell: scriptedShell(script) })
    const agent = cwd === null ? undefined : await world.agent('s1', cwd)
    await world.call({ command: 'make', ...args }, agent)
    await world.call({ command: 'make', run_in_background: true, ...args }, agent)
    const [foreground, background] = script.requests
    expect(script.requests).toHaveLength(2)
    expect(background?.workdir).toBe(foreground?.workdir)
    expect('workdir' in (foreground ?? {})).toBe(foreground?.workdir !== undefined)
    return foreground?.workdir
  }

  it('is that of the session', async () => {
    const cwd = tempFolder()
    expect(await folderOf({}, cwd)).toBe(cwd)
  })

  it('is the absolute one of the call, exactly as it was given', async () => {
    expect(await folderOf({ workdir: '/usr/../tmp/' }, tempFolder())).toBe('/usr/../tmp/')
  })

  it('is found from the folder of the session if the call gives a relative one', async () => {
    const cwd = tempFolder()
    expect(await folderOf({ workdir: 'packages/../docs' }, cwd)).toBe(join(cwd, 'docs'))
  })

  it('has the name that the file system gives it', async () => {
    const { folder, link } = folderWithLink()
    expect(await folderOf({}, link)).toBe(folder)
    expect(await folderOf({ workdir: '..' }, link)).toBe(join(folder, '..'))
    expect(await folderOf({ workdir: link }, link)).toBe(link)
  })

  it('is left to the executor if neither call nor session have one', async () => {
    expect(await folderOf({})).toBeUndefined()
    expect(await folderOf({}, null)).toBeUndefined()
    expect(await folderOf({ workdir: 'docs' }, null)).toBe('docs')
  })
})

it('two sessions on one executor keep to their own folders', async () => {
  const world = await newWorld()
  const folders = [tempFolder(), tempFolder()]
  const agents = await Promise.all(folders.map((cwd, index) => world.agent(`s${index}`, cwd)))
  const results = await Promise.all(agents.map(agent => world.call({ command: 'pwd -P' }, agent)))
  expect(results.map(textOf)).toEqual(folders.map(folder => `${folder}\n`))
})

describe('where the executor confines, the folder', () => {
  async function confined() {
    const script = new ShellScript('workspace-write')
    const root = tempFolder()
    const world = await newWorld({
      shell: async ctx => {
        await ctx.plugin(SandboxPolicyService, { workspaceRoot: root })
        await scriptedShell(script)(ctx)
      },
    })
    return { world, script, root }
  }

  it('is the one that the policy lets the session write to', async () => {
    const { world, script } = await confined()
    const { folder, link } = folderWithLink()
    await world.call({ command: 'make' }, await world.agent('s1', link))
    expect(script.requests[0]).toMatchObject({ workdir: folder, sandboxPolicy: { workspaceRoot: folder } })
  })

  it('is that of the deployment for a session that has none, and for no agent', async () => {
    const { world, script, root } = await confined()
    await world.call({ command: 'make' }, await world.agent())
    await world.call({ command: 'make', workdir: 'docs' })
    expect(script.requests.map(({ workdir }) => workdir)).toEqual([root, join(root, 'docs')])
  })
})
