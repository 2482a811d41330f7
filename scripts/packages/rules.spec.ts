import { describe, expect, it } from 'vitest'
import { packageProblems, type Manifest, type PackedPackage } from './rules.ts'

const version = '0.1.0-rc.8.fix.1'

function packed(manifest: Partial<Manifest> = {}, rest: Partial<Omit<PackedPackage, 'manifest'>> = {}): PackedPackage {
  return {
    manifest: {
      name: '@deepseek-ai/dsh-jobs',
      version,
      license: 'MIT',
      type: 'module',
      repository: { directory: 'packages/jobs/jobs' },
      dependencies: { '@deepseek-ai/schemastery': '^3.18.1' },
      peerDependencies: { '@deepseek-ai/dsh-agent': '^0.1.0-rc.8' },
      ...manifest,
    },
    files: ['package.json', 'README.md', 'LICENSE', 'lib/index.js', 'lib/types/index.d.ts'],
    readme:
      'See [its manifest](package.json), [its code](./lib/index.js), [below](#config) and [npm](https://npmjs.com/).',
    sources: [
      `import z from '@deepseek-ai/schemastery'\nimport { JobId } from '@deepseek-ai/dsh-jobs/brand'`,
      `/** see import('elsewhere') */\nimport './x.js'; import 'node:fs'; declare module '@deepseek-ai/dsh-agent/types' {}`,
    ],
    ...rest,
  }
}

describe('a packed package', () => {
  it('is right as it should be', () => {
    expect(packageProblems(packed(), version)).toEqual([])
  })

  it.each<[string, PackedPackage]>([
    ['its version is 0.1.0, not 0.1.0-rc.8.fix.1', packed({ version: '0.1.0' })],
    ['its license is not MIT', packed({ license: 'ISC' })],
    ['its type is not "module"', packed({ type: 'commonjs' })],
    [
      'its repository.directory is not packages/<group>/<name>',
      packed({ repository: { directory: 'packages/jobs/jobs-local' } }),
    ],
    [
      'README.md links to ../../../docs/job-waits.md, which is not in the package',
      packed({}, { readme: 'See [how a wait ends](../../../docs/job-waits.md#the-end).' }),
    ],
    [
      'peer @deepseek-ai/dsh-agent: "^0.1.0-rc.6" admits 0.1.0-rc.6, which is not tested',
      packed({ peerDependencies: { '@deepseek-ai/dsh-agent': '^0.1.0-rc.6' } }),
    ],
    ['LICENSE is missing', packed({}, { files: packed().files.filter(file => file !== 'LICENSE') })],
    ...['src/index.ts', 'lib/.tsbuildinfo', 'lib/index.js.map', 'lib/types/index.js', 'tests/a.spec.ts'].map(
      (file): [string, PackedPackage] => [
        `${file} does not belong in the package`,
        packed({}, { files: [...packed().files, file] }),
      ],
    ),
    [
      '@deepseek-ai/dsh-llm is imported, but not declared',
      packed({}, { sources: [...packed().sources, `await import('@deepseek-ai/dsh-llm/types')`] }),
    ],
  ])('%s', (problem, wrong) => {
    expect(packageProblems(wrong, version)).toEqual([problem])
  })

  it('may need one of our own packages, which the published original is not', () => {
    const peers = { '@deepseek-ai/dsh-agent': '^0.1.0-rc.8', '@deepseek-ai/dsh-goal-round-driver': `^${version}` }
    expect(packageProblems(packed({ peerDependencies: peers }), version)).toEqual([])
  })

  it('cannot need a version of another package that there is not', () => {
    const wrong = packed({ peerDependencies: { '@deepseek-ai/dsh-agent': `^${version}` } })
    expect(packageProblems(wrong, version)).toEqual([
      'peer @deepseek-ai/dsh-agent: "^0.1.0-rc.8.fix.1" does not admit 0.1.0-rc.8, which is tested',
    ])
  })

  it('has no harness package among its dependencies', () => {
    const wrong = packed({ dependencies: { '@deepseek-ai/dsh-agent': '0.1.0-rc.8' }, peerDependencies: {} })
    expect(packageProblems(wrong, version)).toContain(
      '@deepseek-ai/dsh-agent must be a peer: there is one copy of every harness module in a process',
    )
  })
})
