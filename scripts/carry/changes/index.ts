/**
 * Every change that is carried, in the order of its commits.
 * @module
 */
import type { Change } from '../change.ts'

export const CHANGES: readonly Change[] = []
