/** `pnpm pack:packages <folder>`: packs every published package into a folder, and prints the tarballs. */
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { packAll } from './pack.ts'

const folder = process.argv[2]
if (folder === undefined) {
  console.error('pack:packages: name the folder that the tarballs go to')
  process.exitCode = 2
} else {
  await mkdir(folder, { recursive: true })
  for (const { filename } of await packAll(resolve(folder))) console.log(filename)
}
