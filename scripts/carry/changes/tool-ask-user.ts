/**
 * A human's answer to a question from Code Mode reaches the model (#6074).
 * @module
 */
import type { Change } from '../change.ts'
import { addImport, addParameter, firstOf } from '../find.ts'
import { need } from '../manifest.ts'
import { ownKeys } from '../own.ts'
import { addNote, insertIntoReadme } from '../texts.ts'

const FOLDER = 'packages/interaction/tool-ask-user'
const NAMES = ['write-back', 'write-back-outcome', 'write-back-text']

export const toolAskUser: Change = {
  group: 'write-back',
  message: `fix(tool-ask-user): write the answers of Code Mode questions back to the model

In Code Mode a nested tool's value reaches the model only if the program logs or returns it, so a program that ends with
return "asked" throws a human's answer away (#6074).

What a nested ask_user_question came to, after every policy, is attached to the enclosing call's result as a context
message: the answers with their questions, or that the question was withdrawn. A policy that takes an answer out of either
result keeps it from the model. writeBackLimitBytes bounds the message.`,
  files: [...NAMES.map(name => `${FOLDER}/src/${name}.ts`), ...NAMES.map(name => `${FOLDER}/tests/${name}.spec.ts`)],
  edit(target) {
    target.source(`${FOLDER}/src/index.ts`, source => {
      addImport(
        source,
        target.scope.rename("import z from '@deepseek-ai/schemastery'"),
        "import { WRITE_BACK_FIELDS, writeBack, type WriteBackConfig } from './write-back.ts'",
      )
      // The catalog of settings takes plain keys only.
      const fields = ownKeys(`${FOLDER}/src/write-back.ts`, 'WRITE_BACK_FIELDS')
      const apply = addParameter(source, 'apply', 'config: Config = {}')
      source.linesBeforeDoc(apply, [
        '/** Configures the tool. */',
        'export type Config = WriteBackConfig',
        '',
        '/** The schema of the configuration, with its defaults. */',
        `export const Config: z<Config> = z.object({ ${fields.map(field => `${field}: WRITE_BACK_FIELDS.${field}`).join(', ')} })`,
        '',
      ])
      source.linesBefore(firstOf(source, 'the first statement of apply', apply.body), ['writeBack(ctx, config)'])
    })
    need(target, FOLDER, {
      dependencies: ['vendor/schemastery'],
      peers: ['packages/llm/llm', 'packages/util/output-retention'],
      dev: ['packages/code-runtime/code-runtime-worker-thread', 'packages/test-support/agent-loop-testkit'],
    })
    insertIntoReadme(target, FOLDER, [
      { text: 'tool-ask-user/config', section: 'Tool' },
      { text: 'tool-ask-user/model', section: 'Model Experience' },
      { text: 'tool-ask-user/limits', section: 'Known Limitations and Deferred Work' },
    ])
    addNote(target, 'tool-ask-user/note', 'bug-fix/2026-08-24-write-back-of-answers')
  },
}
