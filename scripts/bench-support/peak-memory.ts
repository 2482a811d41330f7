/**
 * The peak of a process's own memory.
 * @module
 */
import { readFileSync } from 'node:fs'

/**
 * @returns the most that was resident of this process, in MB. `process.resourceUsage()` would also count its parent's
 *   memory from before the start, on Linux, which keeps the peak of its own in `/proc`.
 */
export function peakRssMb(): number {
  const [, kib] = /^VmHWM:\s*(\d+) kB$/m.exec(ownStatus()) ?? []
  return kib === undefined ? process.resourceUsage().maxRSS / 1_000 : (Number(kib) * 1_024) / 1e6
}

function ownStatus(): string {
  return process.platform === 'linux' ? readFileSync('/proc/self/status', 'utf8') : ''
}
