/** Real processes that write characters in pieces, read all the while. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ShellProcess } from '@deepseek-ai/dsh-shell'
import { LocalBashExecutor } from '../src/index.ts'
import { eventually, mountBash, startScripted } from './harness.ts'

/** A command that writes every byte by itself, with a pause after each. */
function byteByByte(bytes: string | Buffer, stream: 1 | 2, pauseS = 0.02): string {
  const escapes = Array.from(Buffer.from(bytes as Buffer), byte => `\\x${byte.toString(16).padStart(2, '0')}`)
  return escapes.map(escape => `printf '${escape}' >&${stream}; sleep ${pauseS}`).join('; ')
}

/** Read a process until it has ended, and once after that. */
async function readAllTheWhile(proc: ShellProcess): Promise<string[]> {
  const deltas: string[] = []
  while (proc.status === 'running') {
    deltas.push(proc.readOutput().delta)
    await new Promise(resolve => setTimeout(resolve, 3))
  }
  deltas.push(proc.readOutput().delta)
  return deltas.filter(delta => delta !== '')
}

describe('a character that is printed byte by byte', () => {
  it('comes whole on stdout', async () => {
    const { start } = await mountBash()
    const deltas = await readAllTheWhile(start(byteByByte('中😀é', 1)))
    expect(deltas).toEqual(['中', '😀', 'é'])
  })

  it('comes whole on stderr, and a part of it brings no heading', async () => {
    const { start } = await mountBash()
    const deltas = await readAllTheWhile(start(byteByByte('中😀é', 2)))
    expect(deltas).toEqual(['[stderr]\n中', '[stderr]\n😀', '[stderr]\né'])
  })

  it('comes whole on both at once', async () => {
    const { start } = await mountBash()
    const deltas = await readAllTheWhile(start(`(${byteByByte('中😀', 1)}) & ${byteByByte('文🎉', 2)}; wait`))
    const all = deltas.join('')
    expect(all).not.toContain('\uFFFD')
    expect(
      Array.from(all)
        .filter(character => character > '\x7f')
        .sort(),
    ).toEqual(['中', '文', '🎉', '😀'].sort())
  })
})

describe('a process that ends inside a character', () => {
  it('gives it out as one U+FFFD once it has settled, and not between the kill and that', async () => {
    const { start } = await mountBash()
    const proc = start(`printf 'up \\xe4\\xb8'; sleep 60`)
    await eventually(() => {
      expect(proc.readOutput().delta).toBe('up ')
    })
    proc.kill()
    expect([proc.status, proc.readOutput().delta]).toEqual(['killed', ''])
    await proc.done
    expect(proc.readOutput().delta).toBe('\uFFFD')
    expect(proc.readOutput().delta).toBe('')
  })

  it('gives it out to the hook of a subclass already, which runs after the settlement', async () => {
    const reads: string[] = []
    class Reader extends LocalBashExecutor {
      protected override onProcessDone(proc: ShellProcess): void {
        reads.push(proc.readOutput().delta)
      }
    }
    const { start } = await mountBash({}, Reader)
    await start(`printf '\\xe4\\xb8'`).done
    expect(reads).toEqual(['\uFFFD'])
  })

  it('gives it out when the spawn has failed, too', async () => {
    const { handle, stdout, proc } = await startScripted()
    stdout.push([0xe4])
    expect(proc.readOutput().delta).toBe('')
    handle.fail('no bash')
    await proc.done
    expect(proc.readOutput().delta).toBe('\uFFFD\n[stderr]\nspawn failed: no bash')
  })
})

it('random bytes, each by itself, are one decode of the whole in the end', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constantFrom('中', '😀', 'é', 'a'), fc.uint8Array({ maxLength: 3 })), { maxLength: 6 }),
      async parts => {
        const bytes = Buffer.concat(parts.map(part => Buffer.from(part as string)))
        const { ctx, start } = await mountBash()
        const deltas = await readAllTheWhile(start(byteByByte(bytes, 1, 0.004)))
        expect(deltas.join('')).toBe(bytes.toString('utf8'))
        await ctx.fiber.dispose()
      },
    ),
    { numRuns: Number(process.env.HUNT_RUNS ?? 25) },
  ))
