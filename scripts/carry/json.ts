/**
 * JSON files of the checkout.
 * @module
 */
import { MissingPlace } from './refusal.ts'

export type Json = Record<string, unknown>

/**
 * Parse a JSON file.
 * @param path - from the root, for the message.
 * @param text - all of it.
 * @returns its object.
 * @throws MissingPlace if it is something else, or has comments.
 */
export function parseJson(path: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new MissingPlace(`${path}: not plain JSON (${(error as Error).message})`)
  }
}
