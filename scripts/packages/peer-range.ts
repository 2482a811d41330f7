/**
 * Which versions of the harness a peer range has to admit, and which not: exactly the published ones that our packages
 * are tested on. Every harness release is a prerelease, and a semver comparator admits prereleases of its own
 * `major.minor.patch` only, so a range needs one comparator for each tested `major.minor.patch`.
 *
 * `harness-versions.json` holds both lists. A release that is added under `published` alone must stay outside the
 * ranges; one that is added under `tested` too must be inside.
 */
import { satisfies } from 'semver'
import versions from './harness-versions.json' with { type: 'json' }

/** Published versions of the harness, and those among them that the packages are tested on. */
export interface HarnessVersions {
  readonly published: readonly string[]
  readonly tested: readonly string[]
}

export const harnessVersions: HarnessVersions = versions

/**
 * Compare a peer range with the versions, in both directions.
 * @param range - the range, as `peerDependencies` has it.
 * @param own - the version our own packages have, which the range must admit too.
 * @param versions - what is published and what is tested.
 * @returns what is wrong, in sentences; nothing for a right range.
 */
export function rangeProblems(range: string, own: string, { published, tested }: HarnessVersions): string[] {
  const wanted = new Set([...tested, own])
  return [...new Set([...published, ...wanted])].flatMap(version => {
    const admitted = satisfies(version, range)
    if (admitted === wanted.has(version)) return []
    return admitted
      ? [`"${range}" admits ${version}, which is not tested`]
      : [`"${range}" does not admit ${version}, which is tested`]
  })
}
