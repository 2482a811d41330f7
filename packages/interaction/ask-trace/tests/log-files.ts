/** Log files for a test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { frame } from '../../../../scripts/bench-support/session-log.ts'
import { readSessionLog } from '../src/index.ts'
import { ANSWER, asking, request, type Event } from './events.ts'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** @returns an empty folder that goes with the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'ask-trace-'))
  folders.push(path)
  return path
}

/** @returns the path of a new file. */
export function file(content: Buffer | string, name = 'session.jsonl', dir = folder()): string {
  const path = join(dir, name)
  writeFileSync(path, content)
  return path
}

export const HEADER = { type: 'session', version: 0, id: 's', createdAt: 0, delegationDepth: 0 }

/** A question whose answer is lost. */
export const LOST: readonly Event[] = [...asking('a', 'asked'), ...request()]

/** A question whose answer arrives. */
export const DELIVERED: readonly Event[] = [...asking('a', ANSWER), ...request()]

/** @returns records as lines. */
export const jsonl = (records: readonly unknown[]) => records.map(record => `${JSON.stringify(record)}\n`).join('')

/** @returns each text as a frame of its own, one after the other. */
export const frames = (...texts: readonly string[]) => Buffer.concat(texts.map(text => frame(Buffer.from(text))))

/** What reading a file comes to. */
export async function read(path: string) {
  const notes: string[] = []
  const events: unknown[] = []
  let skipped = 0
  const listener = {
    onNote: (note: string) => {
      notes.push(note)
    },
    onSkipped: (rows: number, note: string) => {
      skipped = rows
      notes.push(note)
    },
  }
  try {
    for await (const batch of readSessionLog(path, listener)) events.push(...batch)
    return { events, notes, skipped, error: undefined }
  } catch (error) {
    return { events, notes, skipped, error }
  }
}
